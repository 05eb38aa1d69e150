import { readFile } from "node:fs/promises";
import { Elector } from "@leasehold/core";
import type { Leadership } from "@leasehold/core";
import { EtcdLeaseStore } from "@leasehold/etcd";

export async function firstUse(): Promise<void> {
  const store = new EtcdLeaseStore({ endpoints: ["http://10.0.0.7:2379", "http://10.0.0.8:2379", "http://10.0.0.9:2379"] });
  const elector = new Elector({ store, election: "nightly-billing", value: "http://10.0.1.4:8080" });
  process.once("SIGTERM", () => void elector.stop());

  await elector.run(async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership);
  });
}

export async function access(): Promise<EtcdLeaseStore> {
  const store = new EtcdLeaseStore({
    endpoints: "https://etcd.internal:2379",
    tls: { ca: await readFile("ca.pem"), cert: await readFile("client.pem"), key: await readFile("client-key.pem") },
    user: "billing",
    password: process.env["ETCD_PASSWORD"],
  });
  return store;
}

export async function fencedWrite(store: EtcdLeaseStore, leadership: Leadership, report: string): Promise<void> {
  const transaction = {
    compare: [...store.fence(leadership)],
    success: [{ request_put: { key: base64("reports/today"), value: base64(report) } }],
  };
  const response = await fetch("http://10.0.0.7:2379/v3/kv/txn", { method: "POST", body: JSON.stringify(transaction) });
  const { succeeded = false } = (await response.json()) as { succeeded?: boolean };
  if (!succeeded) throw new Error(`term ${leadership.term} is over, and nothing was written`);
}

declare function billNextCustomer(leadership: Leadership): Promise<void>;
declare function base64(text: string): string;
