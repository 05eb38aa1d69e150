/** What becomes of a packet on its way to another server and back. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Poster, secretsDiffer } from "../src/http-post.ts";

/** Answers one packet after the other on connections that are kept, and goes on counting. */
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
  const poster = new Poster(undefined);
  onTestFinished(() => poster.close());
  const post = (): Promise<unknown> => poster.post("b", url, { body: "{}", signature: "s" }, new AbortController().signal);
  await post();
  // The connection is free again.
  await new Promise((resolve) => setImmediate(resolve));
  const second = post();
  await second.catch(() => undefined);
  return { second, count };
}

test("a packet is sent once more where the connection that was kept for it was closed", async () => {
  const { second, count } = await postTwice([OK, "hangs up", OK]);
  expect(await second).toMatchObject({ body: Buffer.from("{}") });
  expect(count()).toBe(3);
});

test("a packet that was answered by nonsense is not sent again", async () => {
  const { second, count } = await postTwice([OK, "nonsense\r\n\r\n", OK]);
  await expect(second).rejects.toThrow("does not answer");
  expect(count()).toBe(2);
});

test("a failure says what it is", () => {
  expect(String(secretsDiffer("b"))).toBe("NoAnswer: b signs with another secret than this server: give all of them the same.");
});
