import { get, type IncomingMessage } from "node:http";
import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { ELECTION, Sidecar } from "./sidecar.ts";

interface Sent {
  readonly event: string;
  readonly state: string;
  readonly leader: string | undefined;
}

/** A reader of the events. */
class Reader {
  readonly #response: IncomingMessage;
  #text = "";
  #wake: () => void = () => {};

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      this.#text += chunk;
      this.#wake();
    });
    // The server ends the stream.
    response.on("error", () => {});
  }

  static async of(sidecar: Sidecar): Promise<Reader> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(`${sidecar.url}/events`, { agent: false }, resolve).once("error", reject);
    });
    expect(response.headers["content-type"]).toBe("text/event-stream");
    return new Reader(response);
  }

  get text(): string {
    return this.#text;
  }

  /** Waits until the received text matches. */
  async until(pattern: RegExp): Promise<readonly Sent[]> {
    while (!pattern.test(this.#text)) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#text
      .split("\n\n")
      .slice(0, -1)
      .filter((message) => message.startsWith("event:"))
      .map((message) => {
        const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
        const { state, leader } = JSON.parse(data) as { state: string; leader: { candidateId: string } | null };
        return { event, state, leader: leader?.candidateId };
      });
  }

  leave(): void {
    this.#response.destroy();
  }
}

test("a reader gets the present state first, then each change and each read", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  await using a = await new Sidecar("a", store, clock).start();
  await using b = await new Sidecar("b", store, clock).start();
  const reader = await Reader.of(b);
  expect(await reader.until(/event: /)).toEqual([{ event: "change", state: "standby", leader: expect.anything() }]);

  await clock.advance(6_000);
  expect((await reader.until(/event: look/)).at(-1)).toEqual({ event: "look", state: "standby", leader: "a" });
  a.stop();
  await clock.advance(2_000);

  const sent = await reader.until(/"state":"leading"/);
  expect(sent.filter(({ event }) => event === "change").map(({ state, leader }) => `${state} ${leader ?? "nobody"}`)).toEqual([
    "standby a",
    "standby nobody",
    "leading b",
    "leading b",
  ]);
  reader.leave();
});

test("heartbeats keep the connection of a silent election open", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  await using a = await new Sidecar("a", store, clock, [ELECTION]).start();
  const reader = await Reader.of(a);
  await reader.until(/event: /);

  await clock.advance(15_000);
  await reader.until(/^:\n\n/m);

  // Without readers no timer is left.
  reader.leave();
});

test("accepts a hundred readers, and answers 503 to one more", async () => {
  const clock = new VirtualClock();
  await using a = await new Sidecar("a", new MemoryLeaseStore({ clock }), clock).start();
  const readers = await Promise.all(Array.from({ length: 100 }, async () => await Reader.of(a)));
  expect(await a.ask("/events")).toMatchObject({ status: 503, body: expect.stringContaining("100 readers follow already") });
  for (const reader of readers) reader.leave();
});
