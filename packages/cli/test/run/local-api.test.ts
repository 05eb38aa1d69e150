import { ConfigurationError, type Leadership } from "@leasehold/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveLeadership, type LocalApi } from "../../src/run/local-api.ts";

let api: LocalApi;
/** The requests of the command that change something. */
let said: unknown[];
let remainingMs: number;
let ending: AbortController;
let refuse: () => void;

beforeEach(async () => {
  said = [];
  remainingMs = 1_500;
  ending = new AbortController();
  refuse = () => {};
  const leadership = {
    election: "e",
    term: 7,
    candidateId: "me",
    signal: ending.signal,
    remainingMs: () => remainingMs,
    checkpoint: () => said.push("checkpoint"),
    async publish(value: string) {
      said.push(value);
      await Promise.resolve();
      refuse();
    },
  };
  api = await serveLeadership(leadership as unknown as Leadership, () => said.push("resign"));
});
afterEach(async () => await api[Symbol.asyncDispose]());

async function ask(method: string, path: string, body?: string, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${api.token}`, ...more };
  return await fetch(api.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
}

test.each([
  ["without the token", "/leadership", { authorization: "Bearer other" }, 401, "$LEASEHOLD_TOKEN"],
  ["of a web page", "/leadership", { origin: "http://localhost" }, 403, "requests of web pages are refused"],
  ["for another path", "/nothing", {}, 404, "PUT /value"],
])("a request %s is refused, and told why", async (_what, path, headers, status, words) => {
  const response = await ask("GET", path, undefined, headers);
  expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/json"]);
  expect(await response.json()).toEqual({ error: expect.stringContaining(words) });
});

test("a term is valid for as long as some of it remains, and ending once its signal has aborted", async () => {
  const response = await ask("GET", "/leadership");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const term = { election: "e", term: 7, candidateId: "me" };
  expect(await response.json()).toEqual({ ...term, valid: true, ending: false, remainingMs: 1_500 });
  remainingMs = 0;
  ending.abort();
  expect(await (await ask("GET", "/leadership")).json()).toEqual({ ...term, valid: false, ending: true, remainingMs: 0 });
});

test("a request of the command is passed on, and answered without a body", async () => {
  expect((await ask("POST", "/checkpoint")).status).toBe(204);
  expect((await ask("POST", "/resign")).status).toBe(202);
  expect((await ask("PUT", "/value", "ü")).status).toBe(204);
  expect(said).toEqual(["checkpoint", "resign", "ü"]);
});

test("a value is taken up to its limit, in bytes, in however many pieces it comes", async () => {
  const most = "ü".repeat(32_768);
  expect((await ask("PUT", "/value", most)).status).toBe(204);
  expect((await ask("PUT", "/value", `${most}x`)).status).toBe(413);
  expect(said).toEqual([most]);
});

test.each<readonly [unknown, number, string]>([
  [new ConfigurationError("it is too long."), 400, "it is too long."],
  [new Error("the term is over."), 409, "the term is over."],
  ["odd", 409, "odd"],
])("a value that is refused is answered with why: %s", async (error, status, words) => {
  refuse = () => {
    throw error;
  };
  const response = await ask("PUT", "/value", "v");
  expect([response.status, await response.json()]).toEqual([status, { error: words }]);
});

test("refuses requests after its disposal, and has another token each time", async () => {
  const { token } = api;
  await api[Symbol.asyncDispose]();
  await expect(ask("GET", "/leadership")).rejects.toThrow("fetch failed");
  api = await serveLeadership({ remainingMs: () => 0 } as unknown as Leadership, () => {});
  expect(api.token).not.toBe(token);
});
