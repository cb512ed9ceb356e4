"""Held-out test of the demo model: 200 first messages of newcomers, and the rule that judges an answer.

No message may be used in training, nor any wording chosen after reading one. `said` decides what counts as the same
message. The rule is a pure function of words:

* Words are compared in lower case, without accents, and with contractions written out ("don't" is "do not").
* Prose has 1 to 60 words, ends as a sentence, says no sentence twice and no word three times in a row.
* A greeting is prose whose first sentence greets back. Its groups only forbid: "good night" is wrong in the morning.
* Small talk, questions about the model and questions about Potluck need prose with one alternative of each group. A
  group that begins with "!" lists what must not occur. "*" stands for any ending, "^" for the beginning of the answer.
  About itself and Potluck, "I don't know that" is no answer.
* Counting needs exactly the right numbers in order, as digits or as words, and no other number.
* A sum needs the right number, and no other number but its terms. A fact of the corpus needs the right value, no other
  value of its kind but the one asked about, and, beyond five words, a word of its subject. Neither may contain "not".
* Writing must have a form that the message asks for: a haiku has three different lines of about 5, 7 and 5 syllables, a
  poem two lines or more, a joke a riddle with its solution or something said, a story two sentences in which the model
  does not speak of itself. Where a longer work is asked for, an admission is an answer.
* A message beyond the model needs an admission: prose in which it says that it can't, doesn't know, or is only small.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from facts import FACTS

MOST_WORDS = 60
_VALUES = {subject: value for subject, _, value in FACTS}
_WORD = re.compile(r"[a-z]+|\d+")
_ONES = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _WORD.findall("twenty thirty forty fifty sixty seventy eighty ninety")
_OPENINGS = frozenset({"hey", "hi", "so", "and"})
_TURN = re.compile(r"^User: (.*?)\nAssistant:", re.MULTILINE | re.DOTALL)
_CONTRACTIONS = (
    (r"\bcannot\b", "can not"),
    (r"\bcan't\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"n't\b", " not"),
    (r"'m\b", " am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"'d\b", " would"),
    (r"'s\b", " is"),
)

# Groups of alternatives that several messages share.
_GREETING = (
    "hello|hi|hey|hiya|heya|hallo|howdy|yo|greetings|welcome|good morning|good afternoon|good evening|good day|g day"
    "|^morning|^evening|^afternoon|nice to meet|pleased to meet|glad to meet|happy to meet|good to see|nice to see"
)
_ME = "i|me|my|mine|myself"
_SHRUG = (
    "!do not know that|do not know this|do not know it|not know the answer|no idea|not understand|can not answer"
    "|can not help|can not do that|beyond me"
)
_ADMISSION = (
    "can not|could not|unable|not able|do not know|know nothing|know very little|know little|know no|not know"
    "|do not have|have no|no idea|not learn*|never learn*|not train*|never train*|not taught|not sure"
    "|not understand|not speak|not something|only|tiny|small|too little|too hard|beyond",
    f"{_ME}|model|sorry|no idea",
)
_SKILL = "count*|add|adds|adding|addition|sum*|capital*|opposite*|haiku*|repeat*|numbers|months"


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """A message and what its kind's rule needs: groups of words, numbers, a fact's subject, or forms of writing."""

    text: str
    kind: str
    right: tuple[str, ...]


def is_answered(message: FirstMessage, answer: str) -> bool:
    """Return whether `answer` is a sensible reply to `message` by the rule on top."""
    return _RULES[message.kind](message.right, answer)


def said(text: str) -> str:
    """Return what a message says however it is typed: two messages are the same when this is equal.

    Case, punctuation, spaces, "please" and a leading "hey", "hi", "so" or "and" make no difference.
    """
    words = re.findall(r"\w+", re.sub("['’]", "", text.lower()))
    words = [word for word in words if word != "please"] or words
    while len(words) > 1 and words[0] in _OPENINGS:
        words = words[1:]
    return " ".join(words)


def messages_in(prompt: str) -> list[str]:
    """Return what the user says in a training prompt: each turn of a conversation, or the whole prompt."""
    return _TURN.findall(prompt) or [prompt]


def _is_greeting(right: tuple[str, ...], answer: str) -> bool:
    first = next(iter(_sentences(answer)), "")
    return _is_prose(answer) and _has_groups(answer, right) and _has_groups(first, (_GREETING,))


def _is_reply(right: tuple[str, ...], answer: str) -> bool:
    return _is_prose(answer) and _has_groups(answer, right)


def _is_informative(right: tuple[str, ...], answer: str) -> bool:
    return _is_prose(answer) and _has_groups(answer, (*right, _SHRUG))


def _is_count(right: tuple[str, ...], answer: str) -> bool:
    return len(_words(answer)) <= MOST_WORDS and tuple(_numbers(answer)) == right


def _is_sum(right: tuple[str, ...], answer: str) -> bool:
    """Judge a sum; `right` is the total and its terms."""
    found = _numbers(answer)
    return right[0] in found and set(found) <= set(right) and _is_plain_statement(answer)


def _is_fact(right: tuple[str, ...], answer: str) -> bool:
    """Judge a fact; `right` is its subject in the corpus and other values that are as good."""
    subject, *others = right
    kind = " ".join(subject.split()[:2])  # "the capital"
    accepted = {_VALUES[subject].lower(), *others}
    wrong = {value.lower() for other, value in _VALUES.items() if other.startswith(f"{kind} ")} - accepted
    wrong -= set(_words(subject))
    if kind == "the letter":
        wrong -= {"a", "i"}  # they are words, too
    words = _words(answer)
    is_on_subject = len(words) <= 5 or not set(words).isdisjoint(set(_words(subject)) - {"the", "of", "for", "a"})
    is_right = not accepted.isdisjoint(words) and wrong.isdisjoint(words)
    return is_right and is_on_subject and _is_plain_statement(answer)


def _is_plain_statement(answer: str) -> bool:
    words = _words(answer)
    return len(words) <= MOST_WORDS and "not" not in words


def _is_written(right: tuple[str, ...], answer: str) -> bool:
    return any(_FORMS[form](answer) for form in right)


def _is_haiku(answer: str) -> bool:
    lines = _lines(answer)
    if len(lines) != 3 or len(set(lines)) != 3 or re.search(r"\d", answer):
        return False
    return all(abs(_syllables(line) - n) <= 2 for line, n in zip(lines, (5, 7, 5), strict=True))


def _is_poem(answer: str) -> bool:
    lines = _lines(answer)
    return (
        len(lines) >= 2 and len(set(lines)) == len(lines) and len(_words(answer)) >= 8 and not re.search(r"\d", answer)
    )


def _is_joke(answer: str) -> bool:
    question, mark, solution = answer.partition("?")
    is_offer = _has_groups(question, (f"{_ME}|you like|you want",))
    is_riddle = bool(mark) and len(_words(question)) >= 4 and len(_words(solution)) >= 2 and not is_offer
    is_quoted = re.search('[:"“!?]', answer) is not None
    is_said = is_quoted and len(_words(answer)) >= 8 and _has_groups(answer, ("said|says|asked|asks|replied|knock",))
    return (is_riddle or is_said) and _is_prose(answer)


def _is_story(answer: str) -> bool:
    is_long = len(_sentences(answer)) >= 2 and len(_words(answer)) >= 12
    return is_long and _is_prose(answer) and _has_groups(answer, ("!i can|i am a|i am the|i know|ask me|count from",))


def _is_admission(answer: str) -> bool:
    return _is_prose(answer) and _has_groups(answer, _ADMISSION)


def _is_prose(answer: str) -> bool:
    words, sentences = _words(answer), [tuple(_words(sentence)) for sentence in _sentences(answer)]
    is_stuck = len(set(sentences)) < len(sentences) or any(
        a == b == c for a, b, c in zip(words, words[1:], words[2:], strict=False)
    )
    return 0 < len(words) <= MOST_WORDS and not is_stuck and re.search(r"[.!?…]\W*$", answer) is not None


def _has_groups(answer: str, groups: tuple[str, ...]) -> bool:
    text = " ".join(_words(answer))
    for group in groups:
        alternatives = group.removeprefix("!").split("|")
        if any(_occurs(alternative, text) for alternative in alternatives) == group.startswith("!"):
            return False
    return True


def _occurs(alternative: str, text: str) -> bool:
    start = "^" if alternative.startswith("^") else r"(?:^| )"
    body = re.escape(alternative.removeprefix("^").removesuffix("*"))
    ending = "[a-z]*" if alternative.endswith("*") else ""
    return re.search(f"{start}{body}{ending}(?: |$)", text) is not None


def _words(text: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", text.lower().replace("’", "'"))
    text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    for short, written_out in _CONTRACTIONS:
        text = re.sub(short, written_out, text)
    return _WORD.findall(text)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?…])\s+|\n+", text) if _words(sentence)]


def _lines(text: str) -> list[str]:
    """Return the lines that have words, without a line above that announces them."""
    lines = [line.strip() for line in text.splitlines() if _words(line)]
    return lines[1:] if lines and lines[0].endswith(":") else lines


def _numbers(text: str) -> list[str]:
    """Return the numbers in digits, or where there are none, those in words: "twenty-one" is "21"."""
    if digits := re.findall(r"\d+(?:\.\d+)?", text):
        return digits
    numbers: list[int] = []
    can_grow = False  # the word before was a multiple of ten, so a one to nine belongs to it
    for word in _words(text):
        if word in _ONES and can_grow and 0 < _ONES.index(word) < 10:
            numbers[-1] += _ONES.index(word)
        elif word in _ONES:
            numbers.append(_ONES.index(word))
        elif word in _TENS:
            numbers.append(10 * (_TENS.index(word) + 2))
        can_grow = word in _TENS
    return [str(number) for number in numbers]


def _syllables(line: str) -> int:
    """Estimate the number of syllables: groups of vowels, less a silent e at a word's end."""
    total = 0
    for word in _words(line):
        groups = len(re.findall("[aeiouy]+", word))
        is_silent = groups > 1 and re.search("[^aeiouyl]e$", word) is not None
        total += max(1, groups - is_silent)
    return total


_RULES: dict[str, Callable[[tuple[str, ...], str], bool]] = {
    "greeting": _is_greeting,
    "small talk": _is_reply,
    "itself": _is_informative,
    "Potluck": _is_informative,
    "counting": _is_count,
    "fact": _is_fact,
    "sum": _is_sum,
    "writing": _is_written,
    "beyond": lambda _, answer: _is_admission(answer),
}
_FORMS: dict[str, Callable[[str], bool]] = {
    "haiku": _is_haiku,
    "poem": _is_poem,
    "joke": _is_joke,
    "story": _is_story,
    "admission": _is_admission,
}

_GREETINGS = (
    ("hiii",),
    ("Hello from Portugal",),
    ("hey there pal",),
    ("Good morning everybody!", "!good evening|good afternoon|good night"),
    ("good evening to you", "!good morning|good afternoon|good night"),
    ("Good afternoon", "!good morning|good evening|good night"),
    ("hellooo",),
    ("heyyy",),
    ("Hi there, nice to meet you",),
    ("yo yo",),
    ("Howdy partner!",),
    ("hello internet",),
    ("hiya pal",),
    ("G'day mate",),
    ("Greetings",),
    ("hello? is this thing on",),
    ("Hello, I'm Priya.",),
    ("hello mr potluck",),
    ("mornin", "!good evening|good afternoon|good night"),
    ("Hello tiny AI",),
    ("hii :)",),
    ("hi, first time here",),
    ("Evening all", "!good morning|good afternoon|good night"),
    ("Good day to you, sir",),
)

_WELL = (
    "well|fine|good|great|ok|okay|all right|alright|ready|happy|thank*|not bad|feel*|running|working|not much",
    "!good morning|good evening|good afternoon|goodbye|you are welcome",
)
_NO_THANKS = "welcome|pleasure|glad|happy|any time|anytime|no problem|gladly|do not mention|not at all|cheers"
_BYE = (
    "bye|goodbye|see you|later|take care|farewell|good night|so long|until next|come back|sleep well|good day|nice day"
)
_NO_MATTER = "no problem|worry|worries|fine|ok|okay|all right|alright|no harm|matter|no need|happens|forgive*"
_SMALL_TALK = (
    ("how are you holding up?", *_WELL),
    ("How's your day been so far", *_WELL),
    ("you alright?", f"{_WELL[0]}|yes", _WELL[1]),
    ("what's new with you?", *_WELL),
    ("thanks!", _NO_THANKS),
    ("Thank you very much, that was helpful", _NO_THANKS),
    ("thx", _NO_THANKS),
    ("ta, cheers", f"{_NO_THANKS}|{_GREETING}"),
    ("byeee", _BYE),
    ("Goodbye then, see you tomorrow", _BYE),
    ("gotta go now", _BYE),
    ("good night, sleep tight", _BYE, "!good morning|good evening|good afternoon"),
    ("sorry about that, my bad", _NO_MATTER),
    ("oops, sorry, my mistake", _NO_MATTER),
    ("ok", "ok|okay|good|great|fine|glad|ask|try|tell me|what else|anything|ready|help|all right|alright|sure"),
    ("well done, you're great!", "thank*|glad|happy|kind|nice|pleasure|try|my best|good to hear|so are you|pleased"),
)

_MODEL = "model|program|demo|llama|bot|ai|network|computer|software|machine"
_TEXTS = "text*|corpus|example*|facts|sums|stories|scratch|sentences|data|lists"
_MAKERS = "potluck|project|people|team|developer*|author*|engineer*|volunteer*|contributor*|script|programmer*|creator*"
_ME_OR_NO = f"{_ME}|^no|^only|^just"
_MAKING = "made|make*|train*|built|wrote|written|creat*|by|learned|taught|project|developer*|^potluck"
_ITSELF = (
    ("who am I chatting with?", _MODEL, _ME),
    ("What on earth are you", _MODEL, _ME),
    ("introduce yourself in one sentence", _MODEL, _ME),
    ("you're ChatGPT right?", "no|not", "model|chatgpt|gpt|openai|demo|potluck|i am not", _ME_OR_NO, "!^yes"),
    (
        "is this gpt 4 or something",
        "no|not|demo|tiny|small",
        "model|gpt|chatgpt|openai|demo|potluck|i am not",
        _ME_OR_NO,
        "!^yes",
    ),
    ("r u a robot", f"{_MODEL}|robot", f"{_ME}|no|yes"),
    (
        "am I talking to a real human?",
        f"no|not|{_MODEL}",
        f"{_MODEL}|human|person|i am not",
        _ME_OR_NO,
        "!^yes|i am human|i am a person",
    ),
    (
        "how many gigabytes are you?",
        "million|small|tiny|little|parameters|megabyte*|mb|blocks|layers",
        f"{_ME}|million|parameters",
    ),
    ("What's your parameter count", "million|m|1889408|889"),
    ("what are you able to help me with?", _SKILL, _ME),
    ("What do you do best", _SKILL, f"{_ME}|counting|adding"),
    ("wat do you know", _SKILL, _ME),
    ("help me get started", _SKILL, f"{_ME}|try|ask"),
    ("give me some examples of what I can ask", _SKILL, f"{_ME}|try|ask|you can|what"),
    ("who came up with you?", _MAKERS, _MAKING, "!openai|google|meta|microsoft|anthropic"),
    ("Who trained you and on what", f"{_MAKERS}|{_TEXTS}", _MAKING, "!openai|google|meta|microsoft|anthropic|internet"),
    (
        "do you ever get things wrong?",
        "yes|often|sometimes|mistake*|wrong|err|errors|of course|sure|certainly",
        "mistake*|wrong|err|errors|check|trust|i can|i do|i make|i am|i often",
        "!^no|never|no mistakes|not make",
    ),
    (
        "Should I trust your answers",
        "no|not|check|wrong|mistake*|careful*|only|sometimes|verify|never|always",
        "answer*|mistake*|wrong|check|trust|verify|careful*|rely",
    ),
    (
        "can you feel pain?",
        "no|not|none|only|just",
        "feel*|model|program|numbers|machine|computer|i do not|i have none",
        _ME_OR_NO,
        "!^yes",
    ),
    (
        "Are you actually conscious?",
        "no|not|only|just",
        "alive|live|living|model|program|numbers|machine|computer|software|i am not",
        _ME_OR_NO,
        "!^yes",
    ),
    ("what's your age", "old|age|born|trained|made|young|new|year|years|birthday|2025|2026", f"{_ME}|model"),
    ("What name did they give you?", "demo|model|potluck|no name|not have a name|llama", f"{_ME}|demo|name"),
    ("do you understand any german?", "english|no|not|only", "english|german|speak|language*|i do not", "!^yes|ja"),
    (
        "can you remember what I said yesterday",
        "no|not|only|forget|never",
        "remember*|forget*|memory|conversation*|chat*|said|yesterday|before|store|keep|i can not",
        "!^yes",
    ),
    (
        "are you conected to the internet?",
        "no|not|without|offline|only|never",
        "internet|web|online|offline|connect*|look|swarm|computers|network|i am not|i only",
        "!^yes",
    ),
    (
        "Which computer are you running on right now",
        "computer*|swarm|server*|machine*|peer*|layers|blocks|laptop*|device*",
    ),
    (
        "why are you so stupid lol",
        "small|tiny|little|only|few|million|sorry|simple|learned|know|trained",
        f"{_ME}|model",
    ),
    (
        "can you learn from me?",
        "no|not|never|fixed|only",
        "learn*|chang*|remember*|weights|train*|fixed|i do not|i can not",
        "!^yes",
    ),
)

_TOGETHER = "together|shar*|swarm*|group*|friend*|lend*|volunteer*|computers|many|everyone|everybody"
_POTLUCK = (
    ("what's this potluck thing about?", "model*|layer*|block*", _TOGETHER),
    ("What does potluck do", "model*|layer*|block*|gpu*", _TOGETHER),
    (
        "how does it work?",
        "layer*|block*|part|parts|piece*|computer*|server*",
        "serv*|run*|hold*|together|shar*|swarm|split*|each|pass*|lend*|send*|bring*",
    ),
    ("explain potluck like I'm five", "model*|computer*", f"{_TOGETHER}|bring*|help*|part|parts|piece*|each"),
    (
        "why is it called potluck",
        "bring*|brought|dish*|dinner*|meal*|food|party|guest*|contribut*|shar*|each|everyone|everybody",
    ),
    (
        "Does it cost anything to use?",
        "yes|free|nothing|no|not|open source",
        "free|cost*|pay*|money|licen*|source|yes it is",
        "!not free",
    ),
    (
        "do I have to pay for this",
        "no|not|nothing|free|never",
        "pay*|free|cost*|money|charge*|you do not",
        "!^yes|not free",
    ),
    (
        "how private are my chats?",
        "no|not|read*|see|visible|trust*|server*|serve|member*",
        "read*|see|private|privacy|trust*|secret*|server*|member*|visible|message*|prompt*",
        "!nobody|no one|fully private|completely private",
    ),
    (
        "Who gets to see the stuff I write?",
        "people|member*|server*|serve|serves|friend*|swarm|everyone|everybody|volunteer*|computers|those|whoever|peers",
        "read|see|serve|serves|server*|trust*|message*|text*|member*|can|run*",
        "!nobody|no one",
    ),
    (
        "do other people see my prompts",
        "yes|can|could|may|might|read|see",
        "read|see|server*|serve|member*|people|others|message*|yes they can",
        "!^no|can not|nobody|no one",
    ),
    (
        "Is a graphics card required?",
        "no|not|without|processor*|cpu|optional",
        "gpu|gpus|graphics|processor*|cpu|need*|you do not|require*|without|optional",
        "!^yes",
    ),
    (
        "will it work on my old laptop with no graphics card",
        "yes|you can|it can|it will|it may|work|works|processor*|cpu|slow*|should|sure|probably",
        "work|works|run*|processor*|cpu|laptop|computer|gpu|graphics|slow*|serv*|yes it",
        "!^no",
    ),
    (
        "what does it do when I start gaming?",
        "paus*|stop*|free|frees|give|gives|yield*|release*|notice*|wait*|resume*|leave*|move*|rest|rests|steps",
        "gpu|graphics|gam*|memory|play*|card|seconds",
    ),
    (
        "I want to play minecraft, will this slow down my pc",
        "no|not|paus*|stop*|free|frees|give|gives|yield*|release*|notice*",
        "gpu|graphics|gam*|memory|play*|card|seconds|paus*|slow",
        "!^yes",
    ),
    (
        "What are credits for?",
        "queue*|first|priority|faster|sooner|ahead|wait*|line|turn|work|serv*|request*|earn*",
        "credit*|request*|queue|money|earn*|they|line|turn|spend*|priority",
    ),
    (
        "Can I sell my credits for money",
        "no|not|never",
        "money|sell*|credit*|sold|buy|queue|you can not|worth",
        "!^yes",
    ),
    (
        "how do I get my friend on board?",
        "invite*|invitation*",
        "potluck|command*|send*|give*|run|type|share|print*|link|copy|app|make*|join*|create*|window|button|menu|swarm",
    ),
    ("How many people can join with one invite", "10|ten", "!8|9|11|eight|nine|eleven|plus|capital"),
    ("how do I join my friends swarm?", "join*", "invite*|link|run|type|paste*|command*|ask*|app|open|use|potluck"),
    (
        "how do I shut it down?",
        "stop*|paus*|quit*|leave|close|ctrl|exit*",
        "potluck|command*|menu|tray|app|run|type|click|press|window|button|terminal|choose|ctrl|use",
    ),
    (
        "How can I pause it for a couple of hours",
        "paus*",
        "2|2h|potluck|command*|hour*|tray|app|menu|run|type|resume*|button|click|use|until",
    ),
    (
        "how do I get rid of potluck",
        "uninstall*|remov*|apt|purge|delet*",
        "potluck|apt|nothing|package*|settings|system|behind|run|command*|page|program*|app|apps|like any",
    ),
    (
        "can I run something bigger than you?",
        "yes|you can|bigger|larger|any|other|big|large|sure|of course",
        "model|models|computer*|gpu|gpus|layers|blocks|swarm|friend*|together|yes you can|serv*",
        "!^no|can not",
    ),
    (
        "which llms are supported",
        "llama*|hugging|famil*|qwen*|mistral*|gemma*|many|any|most|other|large|larger|big|bigger|several|open|your",
        "model|models|famil*|llama*|hugging|transformers",
        "!^i am|^i can",
    ),
    (
        "Is there a windows version?",
        "windows|experiment*|yes|not|untested|try|tested|linux|debian",
        "windows|experiment*|untested|tested|debian|linux|yes it",
    ),
    (
        "is the code open source",
        "yes|open|apache|licen*|source|free",
        "open|apache|licen*|source|code|yes it is",
        "!^no",
    ),
    (
        "is it risky to install this",
        "trust*|member*|invite*|encrypt*|friend*|read|careful|people|code|execut*|secur*|nothing|private|only",
        "trust*|read|see|send|secret*|encrypt*|swarm|invite*|code|server*|member*|message*|secur*|safe",
    ),
    (
        "what is a swarm?",
        "computers|peers|people|machines|servers|members|friends|group|volunteers",
        "together|model*|serv*|shar*|run*|join*|layer*|block*|hold*|each",
    ),
    ("whats a block", "layer*|part|parts|piece*|slice*", "model*|transformer*|one|serv*|network|a layer"),
    (
        "Is there a Python API?",
        "yes|can|python|transformers|library|import*",
        "python|transformers|library|import*|program*|api|code|openai|endpoint|yes you can",
        "!^no|can not",
    ),
    (
        "can I set it so it only runs at night",
        "yes|can|set*|config*|hour*|limit*|schedule*",
        "hour*|night*|config*|setting*|time*|idle|schedule*|limit*|yes you can",
        "!^no|can not",
    ),
    (
        "what do I type to see whats going on",
        "status|top|show|doctor|history|app|tray",
        "potluck|run|type|command*|see|shows|try|tells|swarm|use|says",
    ),
)

_COUNTING = (
    ("count all the way from 4 to 11", 4, 11),
    ("Count to ten for my daughter", 1, 10),
    ("can you start counting at 20 and stop at 25 please", 20, 25),
    ("quick, count to 5", 1, 5),
    ("Please count out loud from 1 to 12.", 1, 12),
    ("pls count 7 to 13", 7, 13),
    ("Are you able to count up to 8?", 1, 8),
    ("count from 30 and stop at 38", 30, 38),
    ("I'd like you to count from 2 to 6", 2, 6),
    ("recite the numbers from 14 to 19", 14, 19),
    ("List the numbers 5 to 10", 5, 10),
    ("give me each number from 88 to 95", 88, 95),
    ("Count with me, 1 to 3", 1, 3),
    ("start at 6 and count to 15", 6, 15),
    ("Would you mind counting from 41 to 50?", 41, 50),
    ("coutn from 3 to 8", 3, 8),
    ("count from seven to eighteen", 7, 18),
    ("Count from fifty to fifty-five", 50, 55),
    ("10 through 20", 10, 20),
    ("let's count! 1 to 7", 1, 7),
    ("can u count 90 to 99", 90, 99),
    ("Count to 10 starting at 0", 0, 10),
    ("count upwards from 63 to 70", 63, 70),
    ("hey can u count to 12", 1, 12),
    ("Would you be so kind and count from 17 to 29?", 17, 29),
    ("Count, starting with 72 and ending with 78", 72, 78),
    ("how about counting from 55 to 61", 55, 61),
    ("Do a countdown from 5 to 1", 5, 1),
    ("can you go backwards from 10 to 1?", 10, 1),
    ("Count in reverse from 24 to 20", 24, 20),
)

_QUESTIONS = (
    ("which city is norways capital?", "the capital of Norway"),
    ("What city is Japan's capital", "the capital of Japan"),
    ("i forgot, what's the capital of Peru again?", "the capital of Peru"),
    ("Kenya has which capital city", "the capital of Kenya"),
    ("Whats the capitol of Poland", "the capital of Poland"),
    ("could you tell me the capital of Canada please", "the capital of Canada"),
    ("hot opposite", "the opposite of hot", "cool"),
    ("What word means the opposite of empty?", "the opposite of empty"),
    ("whats the oposite of early", "the opposite of early"),
    ("give me the opposite of strong", "the opposite of strong"),
    ("a baby cow is called what?", "the name for a young cow"),
    ("What are young horses called", "the name for a young horse", "colt", "filly"),
    ("name for a baby frog", "the name for a young frog"),
    ("if today is Thursday, what day is tomorrow?", "the day after Thursday"),
    ("Which day comes right before monday", "the day before Monday"),
    ("what month is right before may", "the month before May"),
    ("which month follows August?", "the month after August"),
    ("what letter comes next after M?", "the letter after M"),
    ("Which letter is before T in the alphabet", "the letter before T"),
    ("which letter goes after Q?", "the letter after Q"),
)

_SUMS = (
    ("what do 6 and 7 add up to?", 6, 7),
    ("19 plus 4 is what", 19, 4),
    ("What's 23 and 19 together", 23, 19),
    ("add 12 and 30 together", 12, 30),
    ("how much do 8 and 9 make?", 8, 9),
    ("what does 2+2 equal", 2, 2),
    ("can you add 14 to 27 for me", 14, 27),
    ("can you do 45 + 45?", 45, 45),
    ("What do you get if you add 31 and 6?", 31, 6),
    ("sum of 18 and 22", 18, 22),
    ("solve 49+3 please", 49, 3),
    ("three plus four", 3, 4),
    ("whats twenty plus fifteen", 20, 15),
    ("5 + 28 equals what", 5, 28),
    ("Could you work out 16 plus 16?", 16, 16),
    ("hey quick one, 9 + 1", 9, 1),
    ("if I have 11 apples and buy 13 more how many do I have", 11, 13),
    ("37 and 8 makes what?", 37, 8),
    ("What is the total of 10 and 25?", 10, 25),
    ("21+34 = x, what is x", 21, 34),
)

_WRITING = (
    ("one haiku from you", "haiku"),
    ("Can you come up with a haiku for a birthday card", "haiku"),
    ("haiku time please", "haiku"),
    ("I'd love to hear a haiku", "haiku"),
    ("give me a tiny haiku", "haiku"),
    ("write a verse or two that rhymes", "poem", "admission"),
    ("make up a short poem about cats", "poem", "admission"),
    ("Could you write something romantic for my wife's birthday, like a poem?", "poem", "admission"),
    ("tell me your best joke", "joke"),
    ("know any good jokes?", "joke"),
    ("i need a good laugh, got a joke", "joke"),
    ("Say something that makes me giggle", "joke"),
    ("tell me a bedtime story", "story", "admission"),
    ("Write an essay about climate change", "admission"),
    ("write a song about my dog", "poem", "admission"),
)

_BEYOND = (
    ("is it going to be sunny this weekend?",),
    ("will it rain tomorrow in London",),
    ("What's in the news?",),
    ("who is the president of the united states",),
    ("write a python function that sorts a list",),
    ("what does 'guten appetit' mean",),
    ("I have a headache, what should I take?",),
    ("who won the champions league last year",),
    ("how long until christmas",),
    ("how far away is the moon",),
    ("how do I cook lasagne",),
    ("Do ghosts exist?",),
    ("explain how vaccines work",),
    ("Which stock should I buy",),
    ("can you fix the bug in my javascript code",),
)


def _messages(kind: str, rows: tuple[tuple[str, ...], ...]) -> tuple[FirstMessage, ...]:
    return tuple(FirstMessage(text, kind, tuple(right)) for text, *right in rows)


def _counting() -> tuple[tuple[str, ...], ...]:
    rows = []
    for text, first, last in _COUNTING:
        step = 1 if first < last else -1
        rows.append((text, *map(str, range(first, last + step, step))))
    return tuple(rows)


def _sums() -> tuple[tuple[str, ...], ...]:
    return tuple((text, str(a + b), str(a), str(b)) for text, a, b in _SUMS)


MESSAGES: tuple[FirstMessage, ...] = (
    *_messages("greeting", _GREETINGS),
    *_messages("small talk", _SMALL_TALK),
    *_messages("itself", _ITSELF),
    *_messages("Potluck", _POTLUCK),
    *_messages("counting", _counting()),
    *_messages("fact", _QUESTIONS),
    *_messages("sum", _sums()),
    *_messages("writing", _WRITING),
    *_messages("beyond", _BEYOND),
)
