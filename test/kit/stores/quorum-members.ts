import { mkdir, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { RecordLeaseStore } from "@leasehold/core/provider";
import { startDynalite } from "../backends/dynalite.ts";
import { startFirestore } from "../backends/firestore.ts";
import { startTcpFaultProxy, type TcpFaultProxy } from "../faults/tcp-fault-proxy.ts";
import { dynamodb, makeLeases } from "./dynamodb.ts";
import { firestore } from "./firestore.ts";
import { inFile } from "./sqlite-file.ts";
import { sqlite } from "./sqlite.ts";
import type { MemberService, OpenStore } from "./test-store.ts";

/** The time limit of a read from a member that serves. */
const READ_MS = 10_000;

/** A process that serves, of any kind. */
interface Backend {
  readonly port: number;
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
}

/** A member with a process of its own, behind a proxy, so that its address stays the same when it is started again. */
class ServedMember implements MemberService {
  readonly name: string;
  readonly proxy: TcpFaultProxy;
  readonly #start: () => Promise<Backend>;
  readonly #empty: () => Promise<void>;
  readonly #open: (host: string) => Promise<OpenStore>;
  #backend: Backend;

  private constructor(name: string, parts: Parts, backend: Backend, proxy: TcpFaultProxy) {
    this.name = name;
    this.proxy = proxy;
    this.#backend = backend;
    this.#start = parts.start;
    this.#empty = parts.empty;
    this.#open = parts.open;
  }

  static async begin(name: string, parts: Parts): Promise<ServedMember> {
    const backend = await parts.start();
    return new ServedMember(name, parts, backend, await startTcpFaultProxy(backend.port));
  }

  get host(): string {
    return this.proxy.host;
  }

  pause(): Promise<void> {
    return this.#backend.pause();
  }

  resume(): void {
    this.#backend.resume();
  }

  async kill(): Promise<void> {
    await this.#backend.stop();
  }

  async start(): Promise<void> {
    this.#backend = await this.#start();
    this.proxy.targetPort = this.#backend.port;
  }

  async wipe(): Promise<void> {
    await this.kill();
    await this.#empty();
    await this.start();
  }

  async keeps(election: string): Promise<boolean> {
    return await keeps(await this.#open(`127.0.0.1:${this.#backend.port}`), election);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.stop();
    await this.#backend.stop();
  }
}

interface Parts {
  /** Starts its process, with the data that it has kept. */
  readonly start: () => Promise<Backend>;
  /** Removes its data, after its process has ended. */
  readonly empty: () => Promise<void>;
  readonly open: (host: string) => Promise<OpenStore>;
}

/** DynamoDB, on dynalite, which keeps its data in a folder. */
export async function dynamodbMember(folder: string): Promise<ServedMember> {
  return await ServedMember.begin("dynamodb", {
    async start() {
      await mkdir(folder, { recursive: true });
      const dynalite = await startDynalite(folder);
      await makeLeases(dynalite.url);
      return withPort(dynalite, dynalite.url);
    },
    empty: () => rm(folder, { recursive: true }),
    open: (host) => dynamodb.open({ store: "dynamodb", url: `http://${host}` }),
  });
}

/** Firestore, on our own server, which keeps its data only in memory. */
export async function firestoreMember(): Promise<ServedMember> {
  return await ServedMember.begin("firestore", {
    async start() {
      const server = await startFirestore();
      return withPort(server, `http://${server.host}`);
    },
    empty: () => Promise.resolve(),
    open: (host) => firestore.open({ store: "firestore", host }),
  });
}

/** SQLite, on a file. It has no process to kill; instead the file is locked, so that no process can use it. */
export async function sqliteMember(): Promise<MemberService & { readonly path: string }> {
  const service = await sqlite.start();
  const path = service.settings["path"]!;
  return {
    name: "sqlite",
    path,
    pause: () => service.pause(),
    resume: () => service.resume(),
    kill: () => service.pause(),
    start: () => Promise.resolve(service.resume()),
    wipe: async () => {
      for (const file of [path, `${path}-leasehold`]) await emptyFile(file);
    },
    keeps: async (election) => keeps(await sqlite.open(service.settings), election),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Waits until the file is not locked, without blocking this process. */
async function emptyFile(path: string): Promise<void> {
  for (;;) {
    try {
      return inFile(path, (file) => {
        const tables = file.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
        file.exec(`BEGIN IMMEDIATE; ${tables.map(({ name }) => `DELETE FROM "${String(name)}";`).join(" ")} COMMIT`);
      });
    } catch (error) {
      // SQLITE_BUSY.
      if ((error as { readonly errcode?: number }).errcode !== 5) throw error;
    }
    await delay(1);
  }
}

/** Reads with a client of its own, past the member's proxy. */
async function keeps({ store, close }: OpenStore, election: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(READ_MS);
    return (await (store as RecordLeaseStore).records.get(election, { consistent: true, signal })) !== undefined;
  } finally {
    await close();
  }
}

function withPort(service: Omit<Backend, "port">, url: string): Backend {
  return {
    port: Number(new URL(url).port),
    pause: () => service.pause(),
    resume: () => service.resume(),
    stop: () => service.stop(),
  };
}
