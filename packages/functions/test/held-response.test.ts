import { createServer, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Request, Response } from "@google-cloud/functions-framework";
import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { describe, expect, onTestFinished, test } from "vitest";
import { HeldResponse } from "../src/held-response.ts";

/** Handlers that wait for their own response to be sent. */
const WAITING: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
  "'finish', heard before it ends": (response) => heard(response, "finish", true),
  "'finish', heard after it ends": (response) => heard(response, "finish", false),
  "'close', heard before it ends": (response) => heard(response, "close", true),
  "'close', heard after it ends": (response) => heard(response, "close", false),
};

async function heard(response: ServerResponse, event: string, listensFirst: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (listensFirst) response.on(event, resolve);
  response.end("billed");
  if (!listensFirst) response.on(event, resolve);
  await promise;
}

test.for(Object.entries(WAITING))("a handler that awaits a bare %s, does not wait for ever", async ([, handler]) => {
  const store = new MemoryLeaseStore();
  const wrapped = onlyAsLeaderOnHttp({ store, election: "nightly-billing" }, (_request, response) =>
    handler(response as unknown as ServerResponse),
  );
  const ended = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    wrapped(request as unknown as Request, response as unknown as Response).then(ended.resolve, ended.reject);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());

  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    headers: { "X-CloudScheduler-ScheduleTime": "2025-12-31T03:00:00Z" },
  });
  await expect(answer.text()).resolves.toBe("billed");
  await ended.promise;
  await expect(store.read("nightly-billing")).resolves.toMatchObject({ state: "vacant", term: 1 });
});

describe("an answer that is held back", () => {
  /** A response, and the text of it that has been sent. */
  function respond(): { readonly response: Response; readonly sent: () => string } {
    const chunks: string[] = [];
    const socket = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        chunks.push(String(chunk));
        done();
      },
    }) as Socket;
    const request = Object.assign(new IncomingMessage(socket), { httpVersionMajor: 1, httpVersionMinor: 1 });
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    return { response: response as Response, sent: () => chunks.join("") };
  }

  test("is the first one, and is sent unchanged once letGo is called", () => {
    const { response, sent } = respond();
    const held = new HeldResponse(response);
    expect(held.isGiven).toBe(false);

    Object.assign(response, { statusCode: 201, statusMessage: "Billed" });
    response.setHeader("x-bill", "1");
    expect(response.end("billed")).toBe(response);
    expect([held.isGiven, response.headersSent, sent()]).toEqual([true, true, ""]);

    Object.assign(response, { statusCode: 500, statusMessage: "Failed" });
    response.setHeader("x-bill", "2");
    response.setHeader("x-failure", "2");
    expect(response.end("failed")).toBe(response);
    held.letGo();

    expect(sent()).toMatch(/^HTTP\/1\.1 201 Billed\r\n(.*\r\n)*x-bill: 1\r\n(.*\r\n)*\r\nbilled$/);
    expect(sent()).not.toContain("x-failure");
    expect(response.writableEnded).toBe(true);
  });

  test("is discarded with its head by drop(), and the next answer is sent at once", () => {
    const { response, sent } = respond();
    const held = new HeldResponse(response);
    response.statusCode = 201;
    response.setHeader("x-bill", "1");
    response.end("billed");
    held.drop();

    expect(response.listenerCount("newListener")).toBe(0);
    expect([held.isGiven, response.headersSent, response.statusCode, response.getHeaderNames()]).toEqual([false, false, 200, []]);
    response.end("failed");
    expect(sent()).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)*\r\nfailed$/);
  });

  test("restores the head only if there was an answer", () => {
    const { response } = respond();
    const held = new HeldResponse(response);
    response.statusCode = 503;
    held.drop();

    expect(response.statusCode).toBe(503);
  });

  test("is not held back if it is streamed", () => {
    const { response, sent } = respond();
    const held = new HeldResponse(response);
    response.write("one, ");
    expect(held.isGiven).toBe(true);
    response.end("two");

    expect(response.writableEnded).toBe(true);
    expect(sent()).toMatch(/one, [^]*two/);
  });

  test("is sent at once if code waits for it, before or after the answer", () => {
    const before = respond();
    void new HeldResponse(before.response);
    before.response.on("finish", () => undefined);
    before.response.end("billed");
    expect(before.sent()).toContain("billed");

    const after = respond();
    after.response.on("finish", () => undefined);
    void new HeldResponse(after.response);
    after.response.end("billed");
    after.response.on("drain", () => undefined);
    expect(after.sent()).toBe("");
    after.response.on("close", () => undefined);
    expect(after.sent()).toContain("billed");
  });

  test("is held back although a listener was added before the answer", () => {
    const { response } = respond();
    const held = new HeldResponse(response);
    response.on("finish", () => undefined);
    response.statusCode = 201;

    expect([held.isGiven, response.writableEnded]).toEqual([false, false]);
    response.end("billed");
    expect(response.writableEnded).toBe(true);
  });
});
