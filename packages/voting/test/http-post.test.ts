/** A packet on its way to another server, and its answer on the way back. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { expect, onTestFinished, test, vi } from "vitest";
import { HttpClient, secretsDiffer } from "../src/http-client.ts";

/** Answers packets one after the other on kept connections, and goes on counting. */
async function serverThat(answers: readonly string[]): Promise<{ url: URL; count: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => {
      const answer = answers[count];
      count += 1;
      if (answer === "hangs up") socket.resetAndDestroy();
      else socket.write(answer ?? "");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), count: () => count };
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

async function postTwice(answers: readonly string[]): Promise<{ second: Promise<unknown>; count: () => number }> {
  const { url, count } = await serverThat(answers);
  const poster = new HttpClient();
  onTestFinished(() => poster.close());
  const post = (): Promise<unknown> => poster.post("b", url, { body: "{}", signature: "s" }, new AbortController().signal);
  await post();
  // The connection is free again.
  await new Promise((resolve) => setImmediate(resolve));
  const second = post();
  await second.catch(() => undefined);
  return { second, count };
}

test("a packet is sent once more if its kept connection was closed", async () => {
  const { second, count } = await postTwice([OK, "hangs up", OK]);
  expect(await second).toMatchObject({ body: Buffer.from("{}") });
  expect(count()).toBe(3);
});

test("a packet is sent on a new connection if all kept ones were closed", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(OK);
      socket.once("data", () => socket.resetAndDestroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const poster = new HttpClient();
  onTestFinished(() => poster.close());
  const post = (): Promise<unknown> => poster.post("b", url, { body: "{}", signature: "s" }, new AbortController().signal);
  await Promise.all([post(), post(), post()]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await post()).toMatchObject({ body: Buffer.from("{}") });
});

test("a hang-up of a server that has answered before is no mistake", async () => {
  const { second } = await postTwice([OK, "hangs up", "hangs up"]);
  await expect(second).rejects.toMatchObject({ isMistake: false, message: expect.stringContaining("does not answer") });
});

test("a packet that was answered by nonsense is not sent again", async () => {
  const { second, count } = await postTwice([OK, "nonsense\r\n\r\n", OK]);
  await expect(second).rejects.toThrow("does not answer");
  expect(count()).toBe(2);
});

/** Posts a packet over `scheme` to a server with these answers, and returns the failure. Waits for `ms` at most. */
async function failureOf(answers: readonly string[], { scheme = "http", ms = 60_000 } = {}): Promise<unknown> {
  const { url } = await serverThat(answers);
  const poster = new HttpClient();
  onTestFinished(() => poster.close());
  const signal = AbortSignal.timeout(ms);
  const to = new URL(url.origin.replace("http", scheme));
  return await poster.post("b", to, { body: "{}", signature: "s" }, signal).catch((error: unknown) => error);
}

const answerOf = (status: number, body: string): readonly string[] => [
  `HTTP/1.1 ${status} Any\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
];

test.each<[what: string, isMistake: boolean, words: string, failure: () => Promise<unknown>]>([
  ["no TLS", true, "does not speak TLS. Is it a server of http:", () => failureOf(["no TLS"], { scheme: "https" })],
  ["a hang-up before any answer", true, "hangs up before it answers. Is it a server of https:", () => failureOf(["hangs up"])],
  ["no answer", false, "does not answer in time.", () => failureOf([], { ms: 50 })],
  ["nonsense", false, "does not answer: Parse Error", () => failureOf(["nonsense\r\n\r\n"])],
  ["another secret", true, "b signs with another secret", () => failureOf(answerOf(401, "signature"))],
  ["a packet too long for it", true, "have the same version", () => failureOf(answerOf(413, "oversized"))],
  ["a packet that it does not know", true, "have the same version", () => failureOf(answerOf(400, "malformed"))],
  ["another program", true, "is no voting server (HTTP 400)", () => failureOf(answerOf(400, "Bad Request"))],
  ["nothing where it should be", true, "is no voting server (HTTP 404)", () => failureOf(answerOf(404, "malformed"))],
])("the failure for %s is a mistake that a person has to correct: %s", async (_what, isMistake, words, failure) => {
  expect(await failure()).toMatchObject({ name: "NoAnswer", isMistake, message: expect.stringContaining(words) });
});

test("a request under way on a kept connection ends with the poster, and is not sent once more", async () => {
  const { url, count } = await serverThat([OK]);
  const poster = new HttpClient();
  const post = (): Promise<unknown> => poster.post("b", url, { body: "{}", signature: "s" }, new AbortController().signal);
  await post();
  await new Promise((resolve) => setImmediate(resolve));
  const second = post().catch((error: unknown) => error);
  await expect.poll(count).toBe(2);
  poster.close();
  expect(await second).toMatchObject({ name: "NoAnswer" });
});

test("a refused connection or an unknown host may pass", async () => {
  const poster = new HttpClient();
  onTestFinished(() => poster.close());
  const signal = new AbortController().signal;
  const port = await freePort();
  for (const [origin, words] of [
    [`http://127.0.0.1:${port}`, "no server listens for b at"],
    [`http://b.invalid:${port}`, `the host of b at http://b.invalid:${port} cannot be found.`],
  ] as const) {
    await expect(poster.post("b", new URL(origin), { body: "{}", signature: "s" }, signal)).rejects.toMatchObject({
      isMistake: false,
      message: expect.stringContaining(words),
    });
  }
});

test("a failure has a name", () => {
  expect(String(secretsDiffer("b"))).toBe("NoAnswer: b signs with another secret than this server: give all of them the same.");
});

test("a packet that is not answered in time ends the kept connections to its server only, if nothing else was answered", async () => {
  const asked: number[] = [];
  const serve = async (answers: (body: string) => boolean): Promise<URL> => {
    const server = createHttpServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        asked.push(request.socket.remotePort ?? 0);
        if (answers(body)) setTimeout(() => response.end("{}"), 20);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  };
  const silent = await serve((body) => body !== "silent");
  const other = await serve(() => true);
  const poster = new HttpClient();
  onTestFinished(() => poster.close());
  const post = (url: URL, body = "{}", { signal } = new AbortController()): Promise<unknown> =>
    poster.post("b", url, { body, signature: "s" }, signal);
  await Promise.all([post(silent), post(silent), post(silent), post(other)]);
  const before = new Set(asked);
  expect(before.size).toBe(4);
  const stopping = new AbortController();
  const unanswered = post(silent, "silent", stopping);
  await vi.waitFor(() => expect(asked).toHaveLength(5));
  stopping.abort();
  await expect(unanswered).rejects.toThrow("does not answer in time");
  await post(silent);
  expect(before).not.toContain(asked[5]);
  await post(other);
  expect(before).toContain(asked[6]);

  const stoppingLater = new AbortController();
  const late = post(silent, "silent", stoppingLater);
  await vi.waitFor(() => expect(asked).toHaveLength(8));
  await post(silent);
  stoppingLater.abort();
  await expect(late).rejects.toThrow("does not answer in time");
  await post(silent);
  expect(asked[9]).toBe(asked[8]);
});
