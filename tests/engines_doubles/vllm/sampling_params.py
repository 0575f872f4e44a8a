class SamplingParams:
    def __init__(self, *, max_tokens=None):
        self.max_tokens = max_tokens
