"""A recipe that cannot train as it says is refused, with the setting's name first."""

import json
from dataclasses import replace

import pytest

from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError


@pytest.mark.parametrize(
    "wrong, words",
    [
        (
            {"milestones": (60, 120, 160)},
            r"^milestones are \(60, 120, 160\); .* shares of the epochs, 60 of 200 is 0.3",
        ),
        ({"milestones": (0.8, 0.3)}, "^milestones are .* must rise between 0 and 1"),
        ({"milestones": (0.3, 0.3)}, "^milestones are .* must rise between 0 and 1"),
        ({"milestones": (0.0, 0.5)}, "^milestones are .* must rise between 0 and 1"),
        ({"milestones": (0.5, 1.5)}, "^milestones are .* must rise between 0 and 1"),
        ({"momentum": 0.0, "nesterov": True}, "^nesterov is true, which needs a momentum above 0"),
        ({"crop_offsets": 10}, "^crop_offsets is 10; with pad 4 it must be 9 or 8, or none"),
        ({"crop_offsets": 7}, "^crop_offsets is 7; with pad 4 it must be 9"),
        ({"pad": 0, "crop_offsets": 0}, "^crop_offsets is 0; with pad 0 it must be 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        Recipe(**wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"milestones": ()},
        {"momentum": 0.0},
        {"momentum": 0.0, "nesterov": True, "optimiser": "adam"},
        {"batchnorm_momentum": 1.0},
        {"pad": 0},
        {"pad": 0, "crop_offsets": 1},
        {"crop_offsets": 8},
    ],
)
def test_what_can_be_meant_is_not(right):
    Recipe(**right)


def test_the_number_of_crops_follows_the_padding_until_it_is_given():
    every = Recipe()
    assert every.crop_offsets == 9
    assert replace(every, pad=2).crop_offsets == 5
    assert replace(replace(every, lr=0.2), pad=1).augmentation(flip=True).offsets == 3
    assert json.loads(json.dumps(every.to_dict()))["crop_offsets"] == 9
    assert replace(Recipe(**every.to_dict()), pad=1).crop_offsets == 3
    assert every == Recipe(crop_offsets=9)
    with pytest.raises(InputError, match="crop_offsets is 8; with pad 2"):
        replace(Recipe(crop_offsets=8), pad=2)
