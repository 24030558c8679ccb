"""Sentences on which tools/export_heads.py measures the heads.

Everything is plain lower-case English whose words are single tokens of the model, so that a word's
place in the sentence plus one (for [CLS]) is its row and its column in every table.
"""

from itertools import product
from typing import NamedTuple


class Case(NamedTuple):
    """One question to a head: does the row of `requester` read `candidate` (places of words)?"""

    sentence: str
    requester: int
    candidate: int
    between: int = 0  # words between the two
    rival: int | None = None  # the candidate that would be wrong


# The sentences whose states are stored.
RUNNING = "the cat sat on the mat"
STORED = [
    RUNNING,
    # determiner, 0 to 3 adjectives, noun
    "the cat looked strange",
    "the big cat looked strange",
    "the big old cat looked strange",
    "the big old black cat looked strange",
    # minimal pairs: one pronoun differs
    "the father told the mother that he was tired",
    "the father told the mother that she was tired",
    "the girl asked the boy whether he could help",
    "the girl asked the boy whether she could help",
    # subject, 0 to 3 words, verb
    "the dog chased the bird",
    "the dog often chased the bird",
    "the dog very often chased the bird",
    "the dog in the garden chased the bird",
    # a repeated word
    "the dog saw another dog near the river",
    # four heads that route differently
    "the young doctor found a small key under the table",
]

# Fifty sentences of varied length and structure for the statistics over all heads.
VARIED = [
    RUNNING,
    "birds sing",
    "it rained all night",
    "she opened the window",
    "where did you put the keys",
    "the train was late again",
    "my brother lives near the sea",
    "they sold the house last year",
    "please close the door behind you",
    "nobody knew the answer",
    "the children played in the snow until dark",
    "i have never seen such a large tree",
    "the old bridge over the river was closed for repairs",
    "he writes letters but rarely sends them",
    "water is cold even in summer high in the mountains",
    "if the weather is good we will walk to the village",
    "the book that you gave me was very interesting",
    "two ships left the harbor this morning",
    "bread and cheese are on the table",
    "can you hear the music from the street",
    "the doctor asked her to wait outside",
    "because the road was icy he drove slowly",
    "a small dog followed us home",
    "the museum opens at ten and closes at six",
    "we painted the kitchen yellow",
    "the teacher explained the problem twice",
    "there is a post office around the corner",
    "our neighbors grow tomatoes and beans",
    "the letter arrived after she had left",
    "tall buildings cast long shadows in the evening",
    "he is taller than his father",
    "the company plans to hire forty new workers next spring",
    "do not forget your umbrella",
    "most of the students passed the exam",
    "the cook cut the onions with a sharp knife",
    "snow covered the roofs of the town",
    "the baby slept while her parents cooked dinner",
    "this machine measures the speed of the wind",
    "what a strange question",
    "the farmer who owns the field sold his horses",
    "they crossed the desert in nine days",
    "the lamp on the desk is broken",
    "it is hard to read in bad light",
    "the committee will meet again on monday",
    "an apple fell from the tree",
    "she speaks french and a little german",
    "the captain ordered the crew to lower the sails",
    "everyone laughed when the curtain fell",
    "the river is wide here and the water is calm",
    "after lunch we took the bus to the airport",
]

_NOUNS = "cat dog horse bird car house table book train ship door hat".split()
_SIZES = "big small huge".split()
_AGES = "old new young".split()
_COLORS = "red black white green".split()

_PEOPLE = "cat dog man woman child teacher doctor farmer king girl soldier student".split()
_VERBS = ["slept all day", "opened the door", "arrived late", "chased a bird"]
_FILLERS = {
    0: [""],
    1: ["often", "never", "quickly", "there"],
    2: ["very often", "at home", "almost never", "in bed"],
    3: ["in the garden", "with long hair", "from the city", "near the door"],
}

_COUPLES = [
    ("king", "queen"),
    ("man", "woman"),
    ("boy", "girl"),
    ("father", "mother"),
    ("brother", "sister"),
    ("uncle", "aunt"),
    ("prince", "princess"),
    ("husband", "wife"),
    ("son", "daughter"),
    ("actor", "actress"),
    ("grandfather", "grandmother"),
    ("duke", "duchess"),
    ("lord", "lady"),
    ("nephew", "niece"),
]
_PRONOUN_FRAMES = [
    "the {} told the {} that {} was tired",
    "the {} asked the {} whether {} could help",
    "the {} met the {} before {} left the town",
    "the {} saw the {} when {} came home",
]


def determiner_cases():
    """288 phrases, determiner to its noun: 12 nouns, 2 determiners, 3 frames, 0 to 3 adjectives."""
    frames = ["{} looked strange", "{} was there yesterday", "we saw {} again"]
    cases = []
    for turn, (noun, article, frame) in enumerate(product(_NOUNS, ["the", "a"], frames)):
        size, age, color = (words[turn % len(words)] for words in (_SIZES, _AGES, _COLORS))
        for adjectives in ([], [age], [size, color], [size, age, color]):
            phrase = " ".join([article, *adjectives, noun])
            start = frame.split().index("{}")
            end = start + len(adjectives) + 1
            cases.append(Case(frame.format(phrase), start, end, len(adjectives)))
    return cases


def subject_cases():
    """192 sentences, subject to its verb: 12 subjects, 4 verbs, 0 to 3 words between."""
    cases = []
    for turn, (noun, verb) in enumerate(product(_PEOPLE, _VERBS)):
        for between, fillers in _FILLERS.items():
            # a turn shifted by the noun, or each verb would always meet the same filler
            filler = fillers[(turn + turn // len(_VERBS)) % len(fillers)]
            words = ["the", noun, *filler.split(), *verb.split()]
            cases.append(Case(" ".join(words), 1, 2 + between, between))
    return cases


def pronoun_pairs():
    """112 minimal pairs (case with he, case with she): 14 couples, both orders, 4 frames."""
    pairs = []
    for (he, she), frame in product(_COUPLES, _PRONOUN_FRAMES):
        for first, second in ((he, she), (she, he)):
            place = frame.split().index("{}", 5)
            of_he, of_she = (1, 4) if first == he else (4, 1)
            pairs.append(
                (
                    Case(frame.format(first, second, "he"), place, of_he, rival=of_she),
                    Case(frame.format(first, second, "she"), place, of_she, rival=of_he),
                )
            )
    return pairs
