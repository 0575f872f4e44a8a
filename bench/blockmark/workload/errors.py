"""The one error of scenarios, programs' loads and traces."""


class ConfigError(ValueError):
    """Bad input: one line that names the file or option, the key, and the mend."""
