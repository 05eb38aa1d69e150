import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { afterEach, describe, expect, it, vi } from "vitest";
import { header } from "./scripted.ts";

const UNUSED = "http://127.0.0.1:1";
const VACANT = JSON.stringify({
  ...header(7),
  responses: [{ response_range: {} }, { response_range: {} }, { response_range: {} }],
});

describe("the way to etcd over HTTP", () => {
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  it("tries the next endpoint at once where it cannot connect, and stays with the one that answers", async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url ?? "");
      response.end(VACANT);
    });
    const store = new EtcdLeaseStore({ endpoints: [UNUSED, url] });
    await store.read("e");
    await store.read("e");
    expect(asked).toEqual(["/v3/kv/txn", "/v3/kv/txn"]);
    await expect(new EtcdLeaseStore({ endpoints: [UNUSED, "http://127.0.0.1:2"] }).read("e")).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
  });

  it.each([
    ["http:", /https: rather than http:/],
    ["https:", /http: rather than https:/],
  ])("asks about the scheme where an endpoint of %s ends connections without a word", async (protocol, advice) => {
    const url = await serve(() => undefined);
    servers.at(-1)?.on("connection", (socket: Socket) => socket.destroy());
    const store = new EtcdLeaseStore({ endpoints: url.replace("http:", protocol) });
    await expect(store.read("e")).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(advice) as string,
    });
  });

  it("sends each request once, and the next one to the next endpoint after one that has not answered well", async () => {
    const asked: string[] = [];
    const bad: Readonly<Record<string, RequestListener>> = {
      silent: () => undefined,
      "without a leader": (_, response) =>
        void response.writeHead(503).end(JSON.stringify({ code: 14, message: "etcdserver: no leader" })),
      strange: (_, response) => response.end("<html>"),
      "cut off": (_, response) => response.socket?.destroy(),
    };
    for (const [name, listener] of Object.entries(bad)) {
      const first = await serve((request, response) => {
        asked.push(name);
        listener(request, response);
      });
      const second = await serve((_, response) => {
        asked.push("good");
        response.end(VACANT);
      });
      const store = new EtcdLeaseStore({ endpoints: [first, second] });
      await expect(store.read("e", { timeoutMs: 200 }), name).rejects.toMatchObject({ code: /^STORE_/ });
      expect(await store.read("e")).toBeUndefined();
      expect(asked.splice(0)).toEqual([name, "good"]);
    }
  });

  it("leaves an endpoint whose watch has broken, and not one whose watch was given up", async () => {
    const asked: string[] = [];
    const watches = new Set<string>();
    const named = async (name: string): Promise<string> =>
      await serve((request, response) => {
        asked.push(name);
        if (request.url !== "/v3/watch") return void response.end(VACANT);
        response.write(`${JSON.stringify({ result: { ...header(7), created: true } })}\n`);
        if (watches.has(name))
          response.write(`${JSON.stringify({ error: { grpc_code: 14, message: "etcdserver: no leader" } })}\n`);
        watches.add(name);
      });
    const store = new EtcdLeaseStore({ endpoints: [await named("one"), await named("other")] });
    const stopping = new AbortController();
    const given = store.watch("e", { signal: stopping.signal })[Symbol.asyncIterator]();
    await given.next();
    const next = given.next();
    await vi.waitFor(() => expect(asked).toEqual(["one", "one"]));
    stopping.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    const broken = store.watch("e", { signal: new AbortController().signal })[Symbol.asyncIterator]();
    await broken.next();
    await expect(broken.next()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await store.read("e");
    expect(asked).toEqual(["one", "one", "one", "one", "other"]);
  });

  it("stays with an endpoint that refuses: the others would, too", async () => {
    const url = await serve(
      (_, response) => void response.writeHead(403).end(JSON.stringify({ code: 7, message: "etcdserver: permission denied" })),
    );
    const store = new EtcdLeaseStore({ endpoints: [url, UNUSED] });
    for (let reads = 0; reads < 2; reads += 1) await expect(store.read("e")).rejects.toMatchObject({ code: "STORE_DENIED" });
  });

  it("puts the lines of a watch together from the pieces that they come in, and asks for the end of one without a leader", async () => {
    const put = (value: string): object => ({
      kv: { key: base64("e/1f"), create_revision: "8", mod_revision: "8", version: "1", value: base64(value), lease: "31" },
    });
    const lines = [{ result: { ...header(7), created: true } }, { result: { ...header(8), events: [put("Füße")] } }].map(
      (line) => `${JSON.stringify(line)}\n`,
    );
    const text = Buffer.from(lines.join(""));
    let asked: unknown;
    const url = await serve((request, response) => {
      if (request.url !== "/v3/watch") return void response.end(VACANT);
      asked = request.headers["grpc-metadata-hasleader"];
      void (async () => {
        for (let at = 0; at < text.length; at += 7) {
          response.write(text.subarray(at, at + 7));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
    });
    const stopping = new AbortController();
    const seen: unknown[] = [];
    for await (const snapshot of new EtcdLeaseStore({ endpoints: url }).watch("e", { signal: stopping.signal })) {
      seen.push(snapshot?.holder);
      if (seen.length === 2) break;
    }
    stopping.abort();
    expect(seen).toEqual([undefined, "Füße"]);
    expect(asked).toBe("true");
  });

  it("gives up a request when it is told to, at any moment, and nothing of it is left", async () => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      // Only half of it.
      response.write("{");
      request.socket.on("close", () => closed.resolve());
      arrived.resolve();
    });
    const stopping = new AbortController();
    const reason = new Error("never mind");
    const reading = new EtcdLeaseStore({ endpoints: url }).read("e", { signal: stopping.signal });
    await arrived.promise;
    stopping.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await closed.promise;
  });

  it("tells nothing of what a stranger answers", async () => {
    const url = await serve((_, response) => void response.writeHead(500).end("token=correct-horse"));
    await expect(new EtcdLeaseStore({ endpoints: url }).read("e")).rejects.toThrow(/does not come from etcd's gateway\.$/);
  });

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
