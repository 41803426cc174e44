"""Plain vLLM servers in machine code: the same rules once more, held equal to `fleet.vllm`."""
