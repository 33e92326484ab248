"""Cities and the time zones that their clocks show."""

import re


_ZONES = {
    "Africa/Cairo": "Cairo",
    "Africa/Johannesburg": "Johannesburg, Cape Town, Pretoria",
    "Africa/Lagos": "Lagos, Abuja",
    "Africa/Nairobi": "Nairobi",
    "America/Argentina/Buenos_Aires": "Buenos Aires",
    "America/Bogota": "Bogota",
    "America/Chicago": "Chicago, Houston, Dallas, Austin",
    "America/Denver": "Denver, Salt Lake City",
    "America/Lima": "Lima",
    "America/Los_Angeles": "Los Angeles, San Francisco, Seattle, San Diego, Las Vegas, Portland",
    "America/Mexico_City": "Mexico City",
    "America/New_York": "New York, Boston, Washington, Miami, Atlanta, Philadelphia",
    "America/Sao_Paulo": "Sao Paulo, Rio de Janeiro, Brasilia",
    "America/Toronto": "Toronto, Ottawa, Montreal",
    "America/Vancouver": "Vancouver",
    "Asia/Bangkok": "Bangkok",
    "Asia/Dubai": "Dubai, Abu Dhabi",
    "Asia/Hong_Kong": "Hong Kong",
    "Asia/Jakarta": "Jakarta",
    "Asia/Jerusalem": "Jerusalem, Tel Aviv",
    "Asia/Karachi": "Karachi",
    "Asia/Kolkata": "Mumbai, Delhi, New Delhi, Bangalore, Kolkata, Chennai",
    "Asia/Manila": "Manila",
    "Asia/Riyadh": "Riyadh",
    "Asia/Seoul": "Seoul, Busan",
    "Asia/Shanghai": "Shanghai, Beijing, Shenzhen, Guangzhou",
    "Asia/Singapore": "Singapore",
    "Asia/Taipei": "Taipei",
    "Asia/Tokyo": "Tokyo, Osaka, Kyoto, Sapporo, Nagoya, Fukuoka, Yokohama, 東京, 大阪, 京都, 日本",
    "Atlantic/Reykjavik": "Reykjavik",
    "Australia/Melbourne": "Melbourne",
    "Australia/Perth": "Perth",
    "Australia/Sydney": "Sydney, Canberra",
    "Europe/Amsterdam": "Amsterdam",
    "Europe/Athens": "Athens",
    "Europe/Berlin": "Berlin, Munich, Hamburg, Frankfurt, Cologne",
    "Europe/Brussels": "Brussels",
    "Europe/Dublin": "Dublin",
    "Europe/Helsinki": "Helsinki",
    "Europe/Istanbul": "Istanbul, Ankara",
    "Europe/Kyiv": "Kyiv",
    "Europe/Lisbon": "Lisbon",
    "Europe/London": "London, Edinburgh, Manchester",
    "Europe/Madrid": "Madrid, Barcelona",
    "Europe/Moscow": "Moscow",
    "Europe/Oslo": "Oslo",
    "Europe/Paris": "Paris, Lyon, Marseille",
    "Europe/Prague": "Prague",
    "Europe/Rome": "Rome, Milan, Naples",
    "Europe/Stockholm": "Stockholm",
    "Europe/Vienna": "Vienna",
    "Europe/Warsaw": "Warsaw",
    "Europe/Zurich": "Zurich, Geneva, Bern",
    "Pacific/Auckland": "Auckland, Wellington",
    "Pacific/Honolulu": "Honolulu",
    "UTC": "UTC, GMT",
}
_ZONE_OF = {city.lower(): zone for zone, cities in _ZONES.items() for city in cities.split(", ")}
_LATIN = sorted((re.escape(city) for city in _ZONE_OF if city.isascii()), key=len, reverse=True)
_OTHER = [re.escape(city) for city in _ZONE_OF if not city.isascii()]
_CITY = re.compile(rf"\b(?:{'|'.join(_LATIN)})\b|{'|'.join(_OTHER)}", re.IGNORECASE)
_IANA = re.compile(r"\b(?:[A-Z][A-Za-z]+/)+[A-Z][A-Za-z_]+\b")


def find_cities(text: str) -> list[str]:
    """Return the known cities in a text, in their order, as they are written there."""
    return [match.group() for match in _CITY.finditer(_IANA.sub(" ", text))]


def find_zones(text: str) -> list[str]:
    """Return the IANA time zones that a text names, itself or by a city, in their order and each once."""
    named = [(match.start(), match.group()) for match in _IANA.finditer(text)]
    masked = _IANA.sub(lambda match: " " * len(match.group()), text)
    by_city = [(match.start(), _ZONE_OF[match.group().lower()]) for match in _CITY.finditer(masked)]
    return list(dict.fromkeys(zone for _, zone in sorted(named + by_city)))
