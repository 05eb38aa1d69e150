import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { cloudEvent, http, type Response } from "@google-cloud/functions-framework";
import { getTestServer } from "@google-cloud/functions-framework/testing";
import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeaderInJob, onlyAsLeaderOnCloudEvent, onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DUE } from "./due.ts";

const ELECTION = "exchange-rates";
let store: MemoryLeaseStore;
let open: AsyncDisposableStack;
let functions = 0;

beforeEach(() => {
  store = new MemoryLeaseStore();
  open = new AsyncDisposableStack();
});

afterEach(async () => {
  await open.disposeAsync();
});

/** Serves a function under a name of its own, on the framework's server. Returns its address. */
async function serve(register: (name: string) => void): Promise<string> {
  functions += 1;
  const name = `function-${functions}`;
  register(name);
  const server: Server = getTestServer(name);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.defer(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Calls a function as Cloud Scheduler does. */
async function call(url: string, job = "refresh"): Promise<globalThis.Response> {
  return await fetch(url, { headers: { "X-CloudScheduler-JobName": job, "X-CloudScheduler-ScheduleTime": DUE } });
}

type HttpHandler = Parameters<typeof onlyAsLeaderOnHttp<MemoryLeaseStore>>[1];

async function serveHttp(handler: HttpHandler, options: object = {}): Promise<string> {
  return await serve((name) => http(name, onlyAsLeaderOnHttp({ store, election: ELECTION, ...options }, handler)));
}

describe("an HTTP function of the Functions Framework", () => {
  test("leads, and has given the lease up by the time its response arrives", async () => {
    const url = await serveHttp((_request, response, leadership) => response.json({ term: leadership.term }));

    for (const term of [1, 2]) {
      const answer = await call(url);
      expect(await store.read(ELECTION)).toMatchObject({ state: "vacant", term });
      expect([answer.status, await answer.json()]).toEqual([200, { term }]);
    }
  });

  test("lets a response that is streamed go out as it is written", async () => {
    const url = await serveHttp(async (_request, response) => {
      await pipeline(Readable.from(["one ", "two ", "three"]), response);
    });

    expect(await (await call(url)).text()).toBe("one two three");
  });

  test("gives only the first of two answers, whole", async () => {
    const url = await serveHttp((_request, response) => {
      response.json({ first: 1 });
      if (!response.headersSent) response.status(500).json({ second: "and much longer than the first one was" });
      response.status(500).set("X-Second", "1");
      response.end("the third");
    });

    const answer = await call(url);
    expect([answer.status, await answer.json(), answer.headers.get("x-second")]).toEqual([200, { first: 1 }, null]);
  });

  test("answers 500 when its handler throws although it has answered: Cloud Scheduler is to deliver again", async () => {
    const url = await serveHttp((_request, response) => {
      response.set("X-Done", "yes").sendStatus(204);
      throw new Error("not after all");
    });

    const answer = await call(url);
    expect([answer.status, answer.headers.get("x-done")]).toEqual([500, null]);
  });

  test.for<[string, (response: Response) => Promise<unknown>]>([
    ["json, and waits for the event", (response) => once(response.json({}), "finish")],
    ["end, and waits by the stream's own means", (response) => finished(response.end())],
    ["an empty stream", (response) => pipeline(Readable.from([]), response)],
  ])("does not keep a handler waiting that sends %s", async ([, send]) => {
    const url = await serveHttp(async (_request, response) => await send(response), { timeoutMs: 600_000 });

    expect((await call(url)).status).toBe(200);
  });

  test("holds back an answer whose head was written by hand", async () => {
    const url = await serveHttp((_request, response) => void response.writeHead(202, { "X-Head": "1" }).end("accepted"));

    const answer = await call(url);
    expect(await store.read(ELECTION)).toMatchObject({ state: "vacant" });
    expect([answer.status, answer.headers.get("x-head"), await answer.text()]).toEqual([202, "1", "accepted"]);
  });
});

describe("a CloudEvent function of the Functions Framework", () => {
  const event = { specversion: "1.0", id: "event-7", source: "//pubsub", type: "tick", time: DUE };

  test("does each event once, in whichever mode it is delivered", async () => {
    const ran: unknown[] = [];
    const wrapped = onlyAsLeaderOnCloudEvent<{ of: string }, MemoryLeaseStore, void>(
      { gate: "oncePerTick", store, election: ELECTION },
      ({ data }, { occurrence }) => void ran.push([data?.of, occurrence?.id]),
    );
    // The framework would call a function of two parameters with a callback.
    expect(wrapped).toHaveLength(1);
    const url = await serve((name) => cloudEvent(name, wrapped));

    const structured = { "Content-Type": "application/cloudevents+json" };
    const first = await fetch(url, {
      method: "POST",
      headers: structured,
      body: JSON.stringify({ ...event, data: { of: "ten" } }),
    });
    expect(first.ok).toBe(true);
    const binary = {
      "Content-Type": "application/json",
      ...Object.fromEntries(Object.entries(event).map(([name, value]) => [`ce-${name}`, value])),
    };
    const second = await fetch(url, { method: "POST", headers: binary, body: JSON.stringify({ of: "ten" }) });
    expect(second.ok).toBe(true);
    expect(ran).toEqual([["ten", `event-7@${DUE}`]]);
  });
});

describe("a Cloud Run job", () => {
  test("leads, and gives its work's result", async () => {
    process.env["CLOUD_RUN_EXECUTION"] = "refresh-x7k2p";
    open.defer(() => void delete process.env["CLOUD_RUN_EXECUTION"]);
    const job = onlyAsLeaderInJob({ store, election: ELECTION }, ({ candidateId, term }) => ({ candidateId, term }));

    await expect(job()).resolves.toEqual({ candidateId: "refresh-x7k2p-0-0", term: 1 });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant" });
  });

  test("does not know for when it was scheduled", () => {
    expect(() => onlyAsLeaderInJob({ gate: "oncePerTick", store, election: ELECTION }, () => undefined)).toThrow(
      "needs 'occurrence'",
    );
  });
});
