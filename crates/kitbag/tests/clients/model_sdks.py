"""Drives the official Python SDKs of two model vendors, and prints their results as JSON.

    model_sdks.py BASE

BASE is the address below which both vendors are: BASE/anthropic and BASE/openai/v1. The address alone is changed;
everything else is as the SDKs come.
"""

import json
import sys

import anthropic
import openai

base = sys.argv[1]
told = {}

claude = anthropic.Anthropic(base_url=f"{base}/anthropic", api_key="sk-ant-test", max_retries=0)
asked = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}
tools = [{"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}}]

message = claude.messages.create(**asked)
told["message"] = [message.content[0].text, message.usage.output_tokens, message._request_id]
with claude.messages.stream(**asked) as stream:
    told["stream"] = ["".join(stream.text_stream), stream.get_final_message().stop_reason]
used = claude.messages.create(**asked, tools=tools, tool_choice={"type": "any"})
told["tool"] = [used.content[0].name, used.content[0].input]
try:
    claude.messages.create(**{**asked, "model": "busy"})
except anthropic.RateLimitError as error:
    told["busy"] = [error.status_code, error.body["error"]["message"], error.response.headers["retry-after"]]
try:
    claude.messages.create(**{**asked, "model": "overloaded"})
except anthropic.APIStatusError as error:
    told["overloaded"] = [error.status_code, error.body["error"]["type"]]
told["count"] = claude.messages.count_tokens(model="m", messages=asked["messages"]).input_tokens

gpt = openai.OpenAI(base_url=f"{base}/openai/v1", api_key="sk-test", max_retries=0)
chat = {"model": "m", "messages": asked["messages"]}
function = {"name": "look_up", "parameters": {"type": "object", "properties": {}}}

completion = gpt.chat.completions.create(**chat)
told["chat"] = [completion.choices[0].message.content, completion._request_id]
chunks = gpt.chat.completions.create(**chat, stream=True)
told["chat_stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
called = gpt.chat.completions.create(**chat, tools=[{"type": "function", "function": function}])
told["chat_tool"] = called.choices[0].message.tool_calls[0].function.name
try:
    gpt.chat.completions.create(**{**chat, "model": "bad"})
except openai.BadRequestError as error:
    told["chat_bad"] = [error.status_code, error.body["message"]]
response = gpt.responses.create(model="m", input="hi", tools=[{"type": "function", **function, "strict": False}])
told["response"] = response.output_text
events = gpt.responses.create(model="m", input="hi", stream=True)
told["response_stream"] = "".join(event.delta for event in events if event.type == "response.output_text.delta")
told["models"] = [model.id for model in gpt.models.list()]

print(json.dumps(told))
