import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { StoreError } from "@leasehold/core";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { afterEach, describe, expect, it, vi } from "vitest";
import { HttpTransport } from "../src/http-transport.ts";
import { header } from "./scripted.ts";

const UNUSED = "http://127.0.0.1:1";
const VACANT = JSON.stringify({
  ...header(7),
  responses: [{ response_range: {} }, { response_range: {} }, { response_range: {} }],
});

describe("the HTTP transport", () => {
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  it("tries the next endpoint at once if it cannot connect, and stays with the one that answers", async () => {
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
  ])("asks about the scheme if an endpoint of %s ends connections without an answer", async (protocol, advice) => {
    const url = await serve(() => undefined);
    servers.at(-1)?.on("connection", (socket: Socket) => socket.destroy());
    const store = new EtcdLeaseStore({ endpoints: url.replace("http:", protocol) });
    await expect(store.read("e")).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(advice) as string,
    });
  });

  it("sends each request once, and after a bad answer sends the next one to the next endpoint", async () => {
    const asked: string[] = [];
    const timeoutMs = 200;
    const clock = new MovableClock();
    const bad: Readonly<Record<string, RequestListener>> = {
      silent: () => clock.forward(timeoutMs),
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
      const store = new EtcdLeaseStore({ endpoints: [first, second], clock });
      await expect(store.read("e", { timeoutMs }), name).rejects.toMatchObject({ code: /^STORE_/ });
      expect(await store.read("e")).toBeUndefined();
      expect(asked.splice(0)).toEqual([name, "good"]);
    }
  });

  it("changes the endpoint if a watch has broken, and not if its caller ended the watch", async () => {
    const asked: string[] = [];
    const watches = new Set<string>();
    const named = async (name: string): Promise<string> =>
      await serve((request, response) => {
        asked.push(name);
        if (request.url !== "/v3/watch") return void response.end(VACANT);
        for (let ranges = 0; ranges < 2; ranges += 1)
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
    await vi.waitFor(() => expect(asked).toEqual(["one"]));
    stopping.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    const broken = store.watch("e", { signal: new AbortController().signal })[Symbol.asyncIterator]();
    await broken.next();
    await expect(broken.next()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await store.read("e");
    expect(asked).toEqual(["one", "one", "other"]);
  });

  it("stays with an endpoint that refuses, because the others would refuse, too", async () => {
    const url = await serve(
      (_, response) => void response.writeHead(403).end(JSON.stringify({ code: 7, message: "etcdserver: permission denied" })),
    );
    const store = new EtcdLeaseStore({ endpoints: [url, UNUSED] });
    for (let reads = 0; reads < 2; reads += 1) await expect(store.read("e")).rejects.toMatchObject({ code: "STORE_DENIED" });
  });

  it("joins the lines of a watch from their pieces, and asks etcd to end a watch without a leader", async () => {
    const put = (value: string): object => ({
      kv: { key: base64("e/1f"), create_revision: "8", mod_revision: "8", version: "1", value: base64(value), lease: "31" },
    });
    const created = { result: { ...header(7), created: true } };
    const lines = [created, created, { result: { ...header(8), events: [put("Füße")] } }].map(
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
    let wakeUps = 0;
    for await (const _ of new EtcdLeaseStore({ endpoints: url }).watch("e", { signal: stopping.signal })) {
      wakeUps += 1;
      if (wakeUps === 2) break;
    }
    stopping.abort();
    expect(asked).toBe("true");
  });

  it("aborts a request at any moment, and leaves nothing behind", async () => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      // Sends only half of the reply.
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

  it("posts JSON over one connection that it keeps, with the length of its body in bytes", async () => {
    const asked: unknown[] = [];
    const url = await serve((request, response) => {
      const { "content-type": type, "content-length": length, authorization } = request.headers;
      asked.push([request.method, request.url, type, authorization]);
      let bytes = 0;
      request.on("data", (chunk: Buffer) => (bytes += chunk.length));
      request.on("end", () => {
        expect(bytes).toBe(Number(length));
        response.end(VACANT);
      });
    });
    let connections = 0;
    servers.at(-1)?.on("connection", () => (connections += 1));
    const store = new EtcdLeaseStore({ endpoints: url });
    for (let reads = 0; reads < 3; reads += 1) await store.read("Füße");
    expect(asked).toEqual(Array.from({ length: 3 }, () => ["POST", "/v3/kv/txn", "application/json", undefined]));
    expect(connections).toBe(1);
  });

  it("sends a request that names an endpoint only there", async () => {
    const asked: string[] = [];
    const [one = "", other = ""] = await Promise.all(
      ["one", "other"].map(
        async (name) =>
          await serve((request, response) => {
            asked.push(`${name}: ${request.headers.authorization ?? ""}`);
            response.end(VACANT);
          }),
      ),
    );
    const transport = new HttpTransport(
      [one, other].map((url) => new URL(url)),
      undefined,
    );
    const { signal } = new AbortController();
    expect(await transport.call("/v3/kv/txn", {}, { signal, token: "token" })).toMatchObject({ endpoint: one });
    expect(await transport.call("/v3/kv/txn", {}, { signal, endpoint: other })).toMatchObject({ endpoint: other });
    expect(await transport.call("/v3/kv/txn", {}, { signal })).toMatchObject({ endpoint: one });
    expect(asked.splice(0)).toEqual(["one: token", "other: ", "one: "]);
    const partly = new HttpTransport(
      [UNUSED, other].map((url) => new URL(url)),
      undefined,
    );
    await expect(partly.call("/v3/kv/txn", {}, { signal, endpoint: UNUSED })).rejects.toMatchObject({
      socketCode: "ECONNREFUSED",
    });
    expect(asked).toEqual([]);
  });

  it("tries each endpoint once if none can be reached", async () => {
    let requests = 0;
    const count = (): void => void (requests += 1);
    subscribe("http.client.request.start", count);
    try {
      const endpoints = [UNUSED, "http://127.0.0.1:2", "http://127.0.0.1:3"];
      await expect(new EtcdLeaseStore({ endpoints }).read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    } finally {
      unsubscribe("http.client.request.start", count);
    }
    expect(requests).toBe(3);
  });

  it("asks about the scheme only if no answer ever came", async () => {
    let answers = 1;
    const url = await serve((_, response) => {
      answers -= 1;
      if (answers >= 0) response.end(VACANT);
      else response.socket?.destroy();
    });
    const store = new EtcdLeaseStore({ endpoints: url });
    await store.read("e");
    await expect(store.read("e")).rejects.toThrow(/^etcd: 'read' of 'e' failed: (socket hang up|read ECONNRESET)\.$/);
    // The question is also missing for an endpoint that does not exist.
    await expect(new EtcdLeaseStore({ endpoints: UNUSED }).read("e")).rejects.not.toThrow(/rather than/);
  });

  it("joins an answer from its pieces", async () => {
    const kv = { key: base64("e/1f"), create_revision: "8", value: base64("x"), lease: "31" };
    const info = { ...kv, key: base64(".leasehold/e/candidates/1f"), value: base64("{}") };
    const text = Buffer.from(
      JSON.stringify({
        note: "Füße",
        ...header(8),
        responses: [[kv], [info], []].map((kvs) => ({ response_range: { kvs } })),
      }),
    );
    const url = await serve((_, response) => {
      void (async () => {
        // The text is cut in the middle of a letter.
        const middle = text.indexOf("ü") + 1;
        response.write(text.subarray(0, middle));
        await new Promise((resolve) => setTimeout(resolve, 20));
        response.end(text.subarray(middle));
      })();
    });
    const { signal } = new AbortController();
    const { body } = await new HttpTransport([new URL(url)], undefined).call("/v3/kv/txn", {}, { signal });
    expect(body).toMatchObject({ note: "Füße" });
    expect(await new EtcdLeaseStore({ endpoints: url }).read("e")).toMatchObject({ state: "held", holder: "x", term: 8 });
  });

  it("takes the first line of a streamed answer, or the error in it", async () => {
    const lines = ['{"result":{}}', '{"error":{"grpc_code":14,"message":"late"}}'];
    const url = await serve((_, response) => response.end(`${lines.join("\n")}\n`));
    const { signal } = new AbortController();
    const { body } = await new HttpTransport([new URL(url)], undefined).call("/v3/lease/keepalive", {}, { signal });
    expect(body).toEqual({ result: {} });
  });

  it.each<readonly [string, number, string, object]>([
    ["etcd's refusal", 403, '{"code":7,"message":"denied"}', { grpcCode: 7, message: "denied" }],
    ["etcd's refusal, as it was before", 403, '{"code":7,"error":"denied"}', { grpcCode: 7, message: "denied" }],
    ["a certificate with a name", 401, 'CommonName of client "a"', { grpcCode: 16, message: /^where authentication is on/ }],
    ["a stranger's with a code", 403, '{"code":7}', { grpcCode: undefined, message: /^HTTP 403: the answer does not come/ }],
    ["a stranger's with words", 403, '{"code":"7","message":"x"}', { grpcCode: undefined, message: /^HTTP 403: / }],
    ["a stranger's of nothing", 502, "", { grpcCode: undefined, status: 502, message: /^HTTP 502: / }],
    ["no JSON", 200, "<html>", { grpcCode: undefined, status: 200, message: /is no JSON/ }],
    ["no object", 200, "5", { message: /is no JSON/ }],
    ["nothing", 200, "null", { message: /is no JSON/ }],
  ])("reports %s of a request and of a watch", async (_, status, text, failure) => {
    const url = await serve((_request, response) => void response.writeHead(status).end(`${text}\n`));
    const { signal } = new AbortController();
    const transport = new HttpTransport([new URL(url)], undefined);
    await expect(transport.call("/v3/kv/txn", {}, { signal })).rejects.toMatchObject({ name: "EtcdFailure", ...failure });
    await expect(transport.watch([], { signal }).next()).rejects.toMatchObject({ name: "EtcdFailure", ...failure });
  });

  it("fails with the error in a watch's message, and with that of its connection", async () => {
    const messages = ['{"result":{"created":true}}\n\n', '{"error":{"grpc_code":14,"message":"no leader"}}\n'];
    for (const [rest, failure] of [
      [messages[1], { grpcCode: 14, message: "no leader" }],
      [undefined, { status: 0, socketCode: "ECONNRESET" }],
    ] as const) {
      const url = await serve((_, response) => {
        response.write(messages[0]);
        if (rest === undefined) setImmediate(() => response.socket?.destroy());
        else response.end(rest);
      });
      const watch = new HttpTransport([new URL(url)], undefined).watch([], { signal: new AbortController().signal });
      expect(await watch.next()).toEqual({ done: false, value: { created: true } });
      await expect(watch.next()).rejects.toMatchObject({ name: "EtcdFailure", ...failure });
    }
  });

  it("joins the lines of a watch from pieces that end in the middle of a letter", async () => {
    const line = Buffer.from(`${JSON.stringify({ result: { note: "Füße" } })}\n`);
    const middle = line.indexOf("ü") + 1;
    const url = await serve((_, response) => {
      response.write(line.subarray(0, middle));
      setTimeout(() => response.write(line.subarray(middle)), 20);
    });
    const stopping = new AbortController();
    const watch = new HttpTransport([new URL(url)], undefined).watch([], { signal: stopping.signal });
    expect(await watch.next()).toEqual({ done: false, value: { note: "Füße" } });
    const next = watch.next();
    stopping.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
  });

  it("ends a watch when etcd does, and drops text after the last line feed", async () => {
    const url = await serve((_, response) => void response.end('{"result":{"created":true}}\n{"result":{"cut'));
    const seen: unknown[] = [];
    const watch = new HttpTransport([new URL(url)], undefined).watch([{ a: 1 }], { signal: new AbortController().signal });
    for await (const message of watch) seen.push(message);
    expect(seen).toEqual([{ created: true }]);
  });

  it("stays with an endpoint if its caller gives up, and changes it if it has not answered in time", async () => {
    const asked: string[] = [];
    const [one = "", other = ""] = await Promise.all(
      ["one", "other"].map(
        async (name) =>
          await serve((request, response) => {
            asked.push(name);
            if (request.url === "/v3/kv/txn") response.end(VACANT);
          }),
      ),
    );
    const transport = new HttpTransport(
      [one, other].map((url) => new URL(url)),
      undefined,
    );
    for (const [reason, next] of [
      [new Error("enough"), "one"],
      [
        new StoreError("STORE_TIMEOUT", "late", { store: "etcd", operation: "x", election: "e", mayHaveBeenApplied: true }),
        "other",
      ],
    ] as const) {
      const stopping = new AbortController();
      const silent = transport.call("/v3/lease/grant", {}, { signal: stopping.signal });
      await vi.waitFor(() => expect(asked).toHaveLength(1));
      stopping.abort(reason);
      await expect(silent).rejects.toBe(reason);
      await transport.call("/v3/kv/txn", {}, { signal: new AbortController().signal });
      expect(asked.splice(0)).toEqual(["one", next]);
    }
  });

  it("drops the connections that it has kept once a request was not answered in time, since a dead path has lost them all", async () => {
    const asked: string[] = [];
    const url = new URL(
      await serve((request, response) => {
        asked.push(`${request.url} from ${request.socket.remotePort}`);
        if (request.url === "/v3/kv/txn") setTimeout(() => response.end(VACANT), 20);
      }),
    );
    const transport = new HttpTransport([url], undefined);
    const read = async (): Promise<unknown> => await transport.call("/v3/kv/txn", {}, { signal: new AbortController().signal });
    await Promise.all([read(), read(), read()]);
    const connections = new Set(asked.map((each) => each.split(" ")[2]));
    expect(connections.size).toBe(3);
    const stopping = new AbortController();
    const silent = transport.call("/v3/lease/grant", {}, { signal: stopping.signal });
    await vi.waitFor(() => expect(asked).toHaveLength(4));
    stopping.abort(
      new StoreError("STORE_TIMEOUT", "late", { store: "etcd", operation: "x", election: "e", mayHaveBeenApplied: true }),
    );
    await expect(silent).rejects.toThrow("late");
    await read();
    expect(connections).not.toContain(asked[4]?.split(" ")[2]);
  });

  it("goes round all endpoints, and changes once for simultaneous failures of one", async () => {
    const asked: string[] = [];
    const urls = await Promise.all(
      ["one", "two", "three"].map(
        async (name) =>
          await serve((_, response) => {
            asked.push(name);
            setTimeout(() => response.writeHead(500).end("<html>"), 20);
          }),
      ),
    );
    const store = new EtcdLeaseStore({ endpoints: urls });
    // Both reads fail at the first endpoint. The transport then changes to the second one, not to the third.
    await Promise.allSettled([store.read("e"), store.read("f")]);
    for (let reads = 0; reads < 3; reads += 1) await store.read("e").catch(() => undefined);
    expect(asked).toEqual(["one", "one", "two", "three", "one"]);
  });

  it.each([{}, { user: "u", password: "p" }])(
    "leaves an endpoint of another cluster that has gone back, with %o",
    async (user) => {
      let isWell = true;
      const answering = (revision: number, clusterId: string): RequestListener => {
        const body = JSON.stringify({ ...header(revision, clusterId), token: "t", responses: [{}, {}, {}] });
        return (_, response) => void (isWell ? response.end(body) : response.writeHead(500).end());
      };
      const rebuilt = await serve((_, response) => void response.end(JSON.stringify({ ...header(3, "2"), token: "t" })));
      const store = new EtcdLeaseStore({ endpoints: [await serve(answering(7, "1")), rebuilt], ...user });
      await store.read("e");
      isWell = false;
      await expect(store.read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      isWell = true;
      await expect(store.read("e")).rejects.toMatchObject({ code: "TERM_REGRESSED" });
      expect(await store.read("e")).toBeUndefined();
    },
  );

  it("quotes nothing of another program's answer", async () => {
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
