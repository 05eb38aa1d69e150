import { EtcdLeaseStore } from "@leasehold/etcd";
import type { Leadership } from "@leasehold/core";
import { etcdMissing, startEtcd } from "../backends/etcd.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** The time limit of a document's request. */
const REQUEST_MS = 5_000;

/** etcd with one member. */
export const etcd: TestStore = {
  title: "etcd",
  // etcd's shortest lease is 2 s by default, and it ends a lease up to half a second late.
  leaseDurationMs: 3_000,

  missing: () => etcdMissing(),

  async start() {
    const member = await startEtcd();
    return {
      settings: { store: "etcd", url: member.url },
      place: `one member, ${member.url}`,
      pause: () => member.pause(),
      resume: () => member.resume(),
      [Symbol.asyncDispose]: () => member.stop(),
    };
  },

  open({ url = "", prefix = "" }) {
    const store = new EtcdLeaseStore({ endpoints: url, prefix });
    return Promise.resolve({
      store,
      document: (name) => documentAt(url, store, `documents/${prefix}${name}`),
      isRefusal: (error) => error instanceof Refused,
      close: () => Promise.resolve(),
    });
  },
};

/** The error of a transaction whose conditions do not hold. */
class Refused extends Error {
  override readonly name = "Refused";
}

interface Range {
  readonly kvs?: ReadonlyArray<{ readonly value?: string }>;
}

function documentAt(url: string, store: EtcdLeaseStore, name: string): GuardedDocument {
  const key = base64(name);
  const ask = async <Reply>(path: string, body: object): Promise<Reply> => {
    const signal = AbortSignal.timeout(REQUEST_MS);
    const reply = await fetch(new URL(path, url), { method: "POST", body: JSON.stringify(body), signal });
    if (!reply.ok) throw new Error(`etcd answered ${reply.status}: ${await reply.text()}`);
    return (await reply.json()) as Reply;
  };
  const read = async (): Promise<string> => {
    const { kvs } = await ask<Range>("/v3/kv/range", { key });
    return Buffer.from(kvs?.[0]?.value ?? "", "base64").toString();
  };
  const write = async (leadership: Leadership, content: string): Promise<void> => {
    const success = [{ request_put: { key, value: base64(content) } }];
    const { succeeded } = await ask<{ succeeded?: boolean }>("/v3/kv/txn", { compare: store.fence(leadership), success });
    if (!succeeded) throw new Refused("etcd has refused a stale leader's write.");
  };
  return {
    read,
    // While the fence holds only this leader can write, and it makes one write at a time.
    update: async (leadership, change) => write(leadership, change(await read())),
    write,
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
