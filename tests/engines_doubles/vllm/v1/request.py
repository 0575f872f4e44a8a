class Request:
    def __init__(
        self,
        request_id: str,
        prompt_token_ids,
        sampling_params,
        pooling_params,
        client_index: int = 0,
    ):
        self.request_id = request_id
        self.prompt_token_ids = prompt_token_ids
        self.num_computed_tokens = 0
