/**
 * Records the packets and the file of today's version, for the test that the next version understands them. Run it once for each
 * published version: `npx node --conditions=@leasehold/source packages/voting/test/record-packets.ts`.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { sleep, systemClock, type AcquireRequest, type Lease } from "@leasehold/core/provider";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { VotingLeaseStore, VotingObserver } from "@leasehold/voting";
import { Seal } from "../src/packet.ts";
import { NAMES, presentVersion, RECEIVER, SECRET } from "./recorded-packets.ts";

const LIMITS = { timeoutMs: 2_000 };
const REQUEST = { candidateId: "b", leaseDurationMs: 4_000, renewIntervalMs: 1_000, ...LIMITS };

interface Packet {
  readonly from: string;
  readonly to: string;
  readonly start: string;
  readonly toStart?: string;
  readonly id: number;
  readonly isReply?: true;
  readonly contents: ReadonlyArray<{ readonly kind: string } | null>;
}

interface Signed {
  readonly packet: Packet;
  readonly text: string;
}

const signed: Signed[] = [];
// oxlint-disable-next-line typescript/unbound-method -- it is called on the seal that signs
const { sign } = Seal.prototype;
Seal.prototype.sign = function (this: Seal, body) {
  const signature = sign.call(this, body);
  signed.push({ packet: JSON.parse(body.toString()) as Packet, text: `${signature}\n${body.toString()}` });
  return signature;
};

const folder = await memoryFolder("leasehold-recorded-");
const servers: Record<string, string> = {};
for (const name of NAMES) servers[name] = `http://127.0.0.1:${await freePort()}`;
const open = async (server: string): Promise<VotingLeaseStore> =>
  await VotingLeaseStore.open({ server, servers, secret: SECRET, stateDirectory: `${folder}/${server}` });
const stores = await Promise.all(NAMES.map(open));
const observer = new VotingObserver({ servers: Object.values(servers), secret: SECRET });
try {
  await play(stores[1] as VotingLeaseStore);
} finally {
  await Promise.all([...stores, observer].map((store) => store.close()));
}
await write();
await rm(folder, { recursive: true });

/** Every request of the server `b` and of an observer, with every optional field. */
async function play(store: VotingLeaseStore): Promise<void> {
  const lease = await elected(store, { ...REQUEST, election: "nightly", value: "http://10.0.0.2" });
  await store.publish(lease, "http://10.0.0.3", LIMITS);
  await observer.read("nightly", LIMITS);
  for await (const _ of observer.list("", LIMITS));
  const transferred = observer.transfer("nightly", "c", { transferTimeoutMs: 3_000 }).catch(() => undefined);
  for (let renewed; renewed?.held !== true || renewed.transferTo === undefined;) {
    renewed = await store.renew(lease, LIMITS);
    await sleep(systemClock, 50);
  }
  await store.release(lease, { ...LIMITS, holdMs: 500 });
  const other = await elected(store, { ...REQUEST, election: "weekly" });
  const broken = observer.break("weekly", { reason: "stuck since 02:40" }).catch(() => undefined);
  while ((await store.renew(other, LIMITS)).held) await sleep(systemClock, 50);
  await Promise.all([transferred, broken]);
}

async function elected(store: VotingLeaseStore, request: AcquireRequest): Promise<Lease> {
  for (;;) {
    const outcome = await store.acquire(request).catch(() => undefined);
    if (outcome?.acquired === true) return outcome.lease;
    await sleep(systemClock, 100);
  }
}

/** The fields of a value, with the types of their values. Flags and kinds have their own values. */
function shapeOf(value: unknown): string {
  return JSON.stringify(value, (name, field: unknown) => {
    if (typeof field === "string") return name === "kind" || name === "0" ? field : "text";
    return typeof field === "number" ? "number" : field;
  });
}

/** Writes the first packet of each kind with each set of fields, in the order in which they were sent, each with its answer. */
async function write(): Promise<void> {
  const target = new URL(`packets/${await presentVersion()}/`, import.meta.url);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const known = new Set<string>();
  let count = 0;
  for (const { packet, text } of signed) {
    const kinds = packet.contents.map((content) => content?.kind).join("-");
    const reply = signed.find(
      ({ packet: { isReply, to, from, id, toStart } }) =>
        isReply && from === RECEIVER && to === packet.from && toStart === packet.start && id === packet.id,
    );
    const isRecorded =
      packet.from !== "a" && packet.from !== "c" && !packet.isReply && (packet.to === RECEIVER || packet.from === "");
    if (!isRecorded || kinds === "" || !reply) continue;
    const key = shapeOf([packet.from, packet.contents, reply.packet.contents]);
    if (known.has(key)) continue;
    known.add(key);
    count += 1;
    const name = `${String(count).padStart(2, "0")}-${kinds}`;
    await writeFile(new URL(`${name}.request`, target), text);
    await writeFile(new URL(`${name}.reply`, target), reply.text);
  }
  await writeFile(new URL("state", target), await readFile(`${folder}/${RECEIVER}/state`));
  console.log(`${count} packets in ${target.pathname}`);
}
