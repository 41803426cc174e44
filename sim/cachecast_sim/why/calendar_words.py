"""Names of days, months and parts of the day: written dates in which only those change.

English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Turkish, Russian,
Chinese, Japanese and Korean, as in Unicode's locale data; the first letters of a longer name are
its short form. Most dates need none of these: their digits tell.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DAYS = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    lunedì martedì mercoledì giovedì venerdì sabato domenica
    segunda terça quarta quinta sexta segunda-feira terça-feira quarta-feira quinta-feira
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    poniedziałek wtorek środa czwartek piątek sobota niedziela
    måndag tisdag onsdag torsdag fredag lördag söndag
    pazartesi salı çarşamba perşembe cuma cumartesi pazar
    понедельник вторник среда четверг пятница суббота воскресенье
    月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日
    星期一 星期二 星期三 星期四 星期五 星期六 星期日 周一 周二 周三 周四 周五 周六 周日
    월요일 화요일 수요일 목요일 금요일 토요일 일요일
    """
)
MONTHS = _words(
    """
    january february march april may june july august september october november december
    januar februar märz mai juni juli oktober dezember
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
    januari februari maart mei augustus maj augusti
    stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października
    listopada grudnia
    ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
    января февраля марта апреля мая июня июля августа сентября октября ноября декабря
    """
)
_PARTS = _words(
    """
    morning afternoon evening night noon midnight am pm morgen nachmittag abend nacht
    matin soir nuit mañana tarde noche mattina sera notte manhã noite
    утро день вечер ночь 上午 下午 午前 午後 오전 오후 today yesterday heute gestern
    """
)
_SHORT_FORMS = (3, 4)  # letters

_SHORT = frozenset(w[:n] for w in DAYS | MONTHS for n in _SHORT_FORMS if w.isascii() and len(w) > n)
_NAMES = DAYS | MONTHS | _SHORT | _PARTS


def is_calendar_word(word: str) -> bool:
    """Whether the word names a day, a month or a part of the day, in full or short form."""
    return word.strip(".,").lower() in _NAMES


def is_day(word: str) -> bool:
    """Whether the word names a day of the week in full."""
    return word.lower() in DAYS


def is_month(word: str) -> bool:
    """Whether the word names a month, in full or in its first three or four letters."""
    plain = word.strip(".,").lower()
    if plain in MONTHS:
        return True
    return len(plain) in _SHORT_FORMS and any(month.startswith(plain) for month in MONTHS)
