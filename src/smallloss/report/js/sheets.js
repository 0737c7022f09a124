// Thumbnails that came many on one sheet, each drawn where it is wanted.

export class Sheets {
  // shown: what the page was given of pictures, or of anything else.
  constructor(shown) {
    this.shown = shown;
    this.places = new Map(shown.sheets ? shown.rows.map((row, place) => [row, place]) : []);
    this.images = [];
  }

  has(row) {
    return this.places.has(row);
  }

  // A picture of the row of the dataset; sharp edges where it is small. The sheet is read when its first one is wanted.
  drawn(row, words) {
    const place = this.places.get(row), sheet = Math.floor(place / this.shown.per_sheet), at = place % this.shown.per_sheet;
    const { side, sizes } = this.shown.sheets[sheet], [width, height] = sizes?.[at] ?? [side, side];
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", words);
    canvas.classList.toggle("coarse", Math.max(width, height) <= 48);
    const from = [(at % this.shown.across) * side, Math.floor(at / this.shown.across) * side];
    this.image(sheet).then((image) => canvas.getContext("2d").drawImage(image, ...from, width, height, 0, 0, width, height));
    return canvas;
  }

  image(sheet) {
    this.images[sheet] ??= new Promise((done) => {
      const image = new Image();
      image.addEventListener("load", () => done(image));
      image.src = this.shown.sheets[sheet].address;
    });
    return this.images[sheet];
  }
}
