import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { BlockBlobClient } from "@azure/storage-blob";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startAzurite } from "../backends/azurite.ts";
import type { Azurite } from "../backends/azurite.ts";
import { startFaultProxy } from "../faults/fault-proxy.ts";
import type { FaultProxy } from "../faults/fault-proxy.ts";
import { containerClient, freshBlob } from "../backends/fresh-container.ts";
import type { ProxiedRequest } from "../faults/request-log.ts";

let azurite: Azurite;

beforeAll(async () => {
  azurite = await startAzurite();
});

afterAll(async () => {
  await azurite.stop();
});

describe("without a rule", () => {
  test("forwards nothing of a request that does not arrive whole", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
    socket.end("PUT / HTTP/1.1\r\nHost: proxy\r\nContent-Length: 2\r\n\r\n1");
    await once(socket.resume(), "close");
    expect(proxy.requests).toEqual([]);
  });

  test("closes the connection when it cannot reach the service", async () => {
    const gone = await startAzurite();
    await using proxy = await startFaultProxy(gone.url);
    const blob = await freshBlob(proxy.url);
    await gone.stop();
    await expect(blob.getProperties()).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(proxy.requests.at(-1)).toMatchObject({ deliveries: [{ status: undefined }], answeredMs: undefined });
  });
});

test("a stream is passed on piece by piece, may lose a piece, and ends when the client leaves", async () => {
  const ended = Promise.withResolvers<void>();
  let write: (piece: string) => void = () => undefined;
  const service = createServer((_, response) => {
    response.once("close", () => ended.resolve());
    write = (piece) => void response.write(piece);
    response.flushHeaders();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void service.close());
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  await using proxy = await startFaultProxy(`http://127.0.0.1:${port}`, { isStream: () => true });
  const leaving = new AbortController();
  const { body } = await fetch(proxy.url, { signal: leaving.signal });
  const pieces = body!.pipeThrough(new TextDecoderStream()).getReader();
  write("first");
  await expect(pieces.read()).resolves.toMatchObject({ value: "first" });
  const seen = Promise.withResolvers<void>();
  proxy.passes = () => {
    proxy.passes = undefined;
    seen.resolve();
    return false;
  };
  write("lost");
  await seen.promise;
  write("last");
  await expect(pieces.read()).resolves.toMatchObject({ value: "last" });
  leaving.abort();
  await ended.promise;
});

describe("faults", () => {
  test("delay: holds the request, and then the reply", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob } = await proxiedBlob(proxy);
    proxy.rule = () => ({ kind: "delay", requestMs: 60, replyMs: 40 });

    await blob.getProperties();

    const [{ receivedMs, deliveries, answeredMs }] = proxy.requests as [ProxiedRequest];
    // A timer may fire up to a millisecond early.
    expect(deliveries[0]!.sentMs - receivedMs).toBeGreaterThanOrEqual(59);
    expect(answeredMs! - deliveries[0]!.repliedMs!).toBeGreaterThanOrEqual(39);
  });

  test("black-hole, request: the service does not get it, and the client gets no answer", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    proxy.rule = () => ({ kind: "black-hole", side: "request" });

    await abandon(proxy, (abortSignal) => blob.getBlobLeaseClient(randomUUID()).acquireLease(15, { abortSignal }));

    expect(proxy.requests).toMatchObject([{ name: "lease:acquire", deliveries: [], answeredMs: undefined }]);
    await expect(direct.getProperties()).resolves.toMatchObject({ leaseState: "available" });
  });

  test("black-hole, reply: the service applies it, and the client gets no answer", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    proxy.rule = () => ({ kind: "black-hole", side: "reply" });

    const acquire = (abortSignal: AbortSignal) => blob.getBlobLeaseClient(randomUUID()).acquireLease(15, { abortSignal });
    await abandon(proxy, acquire, isApplied);

    expect(proxy.requests).toMatchObject([{ deliveries: [{ status: 201 }], answeredMs: undefined }]);
    await expect(direct.getProperties()).resolves.toMatchObject({ leaseState: "leased" });
  });

  test.each([
    { side: "before", statuses: [], leaseState: "available" },
    { side: "after", statuses: [201], leaseState: "leased" },
    { side: "mid-reply", statuses: [201], leaseState: "leased" },
  ] as const)("cut, $side", async ({ side, statuses, leaseState }) => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    proxy.rule = () => ({ kind: "cut", side });

    await expect(blob.getBlobLeaseClient(randomUUID()).acquireLease(15)).rejects.toMatchObject({ code: "ECONNRESET" });

    expect(proxy.requests[0]?.deliveries.map(({ status }) => status)).toEqual(statuses);
    expect(proxy.requests[0]?.answeredMs).toBeUndefined();
    await expect(direct.getProperties()).resolves.toMatchObject({ leaseState });
  });

  test("answer: answers in place of the service", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    proxy.rule = ({ name }) =>
      name === "metadata"
        ? { kind: "answer", status: 503, headers: { "Retry-After": "7", "x-ms-error-code": "ServerBusy" }, body: "Busy." }
        : undefined;

    const error: unknown = await blob.setMetadata({ never: "seen" }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ statusCode: 503, response: { bodyAsText: "Busy." } });
    expect((error as { response: { headers: Headers } }).response.headers.get("retry-after")).toBe("7");
    expect(proxy.requests).toMatchObject([{ name: "metadata", fault: { kind: "answer" }, deliveries: [] }]);
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: {} });
    // There is no rule for this request.
    await expect(blob.getProperties()).resolves.toMatchObject({ metadata: {} });
  });

  test("duplicate: forwards the request twice, and returns the second answer", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    const { etag } = await direct.getProperties();
    proxy.rule = () => ({ kind: "duplicate" });

    const write = blob.setMetadata({ written: "once" }, { conditions: { ifMatch: etag! } });

    await expect(write).rejects.toMatchObject({ code: "ConditionNotMet" });
    expect(proxy.requests).toMatchObject([{ deliveries: [{ status: 200 }, { status: 412 }] }]);
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: { written: "once" } });
  });

  test("hold: holds the request until the promise resolves, with the client or without it", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();

    proxy.rule = () => ({ kind: "hold", until: first.promise });
    await abandon(proxy, (abortSignal) => blob.setMetadata({ from: "the dead" }, { abortSignal }));
    proxy.rule = () => ({ kind: "hold", until: second.promise });
    const patient = blob.setMetadata({ from: "the living" });
    await proxy.waitFor((request) => request !== proxy.requests[0]);
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: {} });

    second.resolve();
    await patient;
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: { from: "the living" } });

    first.resolve();
    await proxy.waitFor((request) => request === proxy.requests[0] && isApplied(request));
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: { from: "the dead" } });
  });
});

describe("partition", () => {
  test("lets no request through until it has healed", async () => {
    await using proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);

    proxy.partition(true);
    await abandon(proxy, (abortSignal) => blob.setMetadata({ lost: "yes" }, { abortSignal }));
    proxy.partition(false);
    await blob.getProperties();

    expect(proxy.requests).toMatchObject([
      { name: "metadata", deliveries: [] },
      { name: "head", deliveries: [{ status: 200 }] },
    ]);
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: {} });
  });
});

describe("stop", () => {
  test("delivers nothing afterwards, and ends every wait for a request", async () => {
    const proxy = await startFaultProxy(azurite.url);
    const { blob, direct } = await proxiedBlob(proxy);
    const gate = Promise.withResolvers<void>();
    proxy.rule = () => ({ kind: "hold", until: gate.promise });
    const held = blob.setMetadata({ held: "yes" });
    const request = await proxy.waitFor(isReceived);

    const [applied, , reply] = await Promise.allSettled([proxy.waitFor(isApplied), proxy.stop(), held]);
    gate.resolve();

    expect(applied).toMatchObject({ status: "rejected", reason: { message: "The fault proxy has been stopped." } });
    expect(reply).toMatchObject({ status: "rejected", reason: { code: "ECONNRESET" } });
    await expect(proxy.waitFor(isApplied)).rejects.toThrow("has been stopped");
    await expect(direct.getProperties()).resolves.toMatchObject({ metadata: {} });
    expect(request.deliveries).toEqual([]);
  });
});

const isReceived = (): boolean => true;
const isApplied = ({ deliveries }: ProxiedRequest): boolean => deliveries[0]?.status !== undefined;

/** Returns a new blob through the proxy, whose record is empty then, and the same blob without it. */
async function proxiedBlob(proxy: FaultProxy): Promise<{ blob: BlockBlobClient; direct: BlockBlobClient }> {
  const direct = await freshBlob(azurite.url);
  const blob = containerClient(proxy.url, direct.containerName).getBlockBlobClient(direct.name);
  return { blob, direct };
}

/** Sends a request, and aborts it as soon as the proxy's record has a matching one, which has no answer then. */
async function abandon(
  proxy: FaultProxy,
  send: (signal: AbortSignal) => Promise<unknown>,
  when: (request: ProxiedRequest) => boolean = isReceived,
): Promise<void> {
  const controller = new AbortController();
  const [reply] = await Promise.allSettled([send(controller.signal), proxy.waitFor(when).then(() => controller.abort())]);
  expect(reply).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
}
