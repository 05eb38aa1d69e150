import { mkdir, rm } from "node:fs/promises";
import { sleep, systemClock } from "@leasehold/core/provider";
import { ProcessClock, SeededRandom } from "@leasehold/core/testing";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { violationIn, type Broken } from "@leasehold/test-kit/simulated/random-run";
import type { Disk } from "../src/state-writer.ts";
import { HttpTransport } from "../src/http-transport.ts";
import { Server } from "../src/server.ts";
import { StateFile } from "../src/state-file.ts";
import { WarningLog } from "../src/warning-log.ts";
import {
  drawFailover,
  drawYearly,
  Failover,
  type FailoverPlan,
  type FailoverWorld,
  type Situation,
  type Started,
} from "./failover.ts";

/** Short leases, because the time is real. The longer one allows 100 ms one way. */
const LEASES_MS = [3_000, 3_000, 7_000];
/** The machine does other things as well. It may be late, and it may depose a leader. */
const LIMITS = { settling: 0.7, factor: 3, grace: 1 };
/** A wait that ends later than this says that the machine was busy. Such time does not count. */
const PUNCTUAL_MS = 5;
/** A run is not judged after this much of such time: servers that get no processor time elect nobody. */
const MOST_BUSY_MS = 5_000;
const SECRET = "a secret of servers";

export interface HttpFailover {
  readonly plan: FailoverPlan;
  /** The machine was too busy for a verdict. */
  readonly isUndecided: boolean;
  readonly violation: Broken | undefined;
  /** The time until every election was led again, without the time for which the machine was too busy. */
  readonly tookMs: number | undefined;
  /** The time that `timing()` gives for that. */
  readonly promisedMs: number;
  /** The time for which the machine was too busy. */
  readonly busyMs: number;
  readonly history: readonly string[];
}

/**
 * Plays one failover over HTTP on loopback, with real files. Proxies delay each connection, and syncs take longer than the disk
 * needs. The processes are servers of this process, each with sockets and files of its own.
 */
export async function playHttpFailover(seed: number, situation: Situation): Promise<HttpFailover> {
  const random = new SeededRandom(seed);
  const plan = drawFailover(random, LEASES_MS, { ...situation, yearly: drawYearly(seed) });
  const world = await HttpWorld.open(plan);
  const failover = new Failover(plan, random, world, LIMITS);
  try {
    const played = violationIn(() => failover.play());
    const violation = await Promise.race([played, world.tooBusy.promise]);
    const { tookMs, promisedMs, history } = failover;
    const { busyMs } = world;
    return { plan, isUndecided: busyMs > MOST_BUSY_MS, violation, tookMs, promisedMs, busyMs, history };
  } finally {
    failover.end();
    await world.close();
  }
}

interface Process extends Started {
  readonly disk: SlowDisk;
  readonly transport: HttpTransport;
  /** Resolves once the process has left its port and its directory, after a kill. */
  ended?: Promise<unknown>;
}

class HttpWorld implements FailoverWorld {
  busyMs = 0;
  /** Resolves if the machine is too busy. */
  readonly tooBusy = Promise.withResolvers<undefined>();
  readonly #startMs = systemClock.monotonicMs();
  readonly #plan: FailoverPlan;
  readonly #folder: string;
  readonly #ports: ReadonlyMap<string, number>;
  /** The networks, by the names of the client and the server. */
  readonly #networks = new Map<string, TcpFaultProxy>();
  readonly #processes = new Map<string, Process>();
  #failure: { readonly cause: unknown } | undefined;

  private constructor(plan: FailoverPlan, folder: string, ports: ReadonlyMap<string, number>) {
    this.#plan = plan;
    this.#folder = folder;
    this.#ports = ports;
  }

  static async open(plan: FailoverPlan): Promise<HttpWorld> {
    const ports = new Map<string, number>();
    for (const name of plan.names) ports.set(name, await freePort());
    const world = new HttpWorld(plan, await memoryFolder("leasehold-failover-"), ports);
    for (const from of plan.names) {
      for (const to of plan.names) {
        if (from === to) continue;
        const network = await startTcpFaultProxy(ports.get(to) as number);
        network.delay(plan.wayMs.get(from + to) as number);
        world.#networks.set(from + to, network);
      }
    }
    return world;
  }

  /** The time that has passed, without the time for which the machine was too busy. */
  monotonicMs(): number {
    return systemClock.monotonicMs() - this.#startMs - this.busyMs;
  }

  async pass(ms: number): Promise<void> {
    const untilMs = systemClock.monotonicMs() + ms + PUNCTUAL_MS;
    await sleep(systemClock, ms);
    this.busyMs += Math.max(systemClock.monotonicMs() - untilMs, 0);
    if (this.#failure) throw this.#failure.cause;
    if (this.busyMs <= MOST_BUSY_MS) return;
    this.tooBusy.resolve(undefined);
    await new Promise(() => undefined);
  }

  kill(name: string, isSilent: boolean): void {
    const { disk, transport, ...process } = this.#processes.get(name) as Process;
    if (isSilent) {
      for (const [ends, network] of this.#networks) if (ends.includes(name)) network.loseRequests();
      for (const [ends, network] of this.#networks) if (ends.includes(name)) network.loseReplies();
    }
    const ended = Promise.all([transport.close(), disk.kill()]);
    this.#processes.set(name, { disk, transport, ...process, ended });
  }

  failDisk(name: string, hangs: boolean): void {
    this.#processes.get(name)?.disk.fail(hangs);
  }

  start(name: string, names: readonly string[]): Started {
    const before = this.#processes.get(name)?.ended;
    const clock = new ProcessClock(systemClock);
    const disk = new SlowDisk(`${this.#folder}/${name}`, this.#plan.syncMs.get(name) as number, before);
    const port = this.#ports.get(name) as number;
    const urls = names.map((to) => [to, new URL(`http://127.0.0.1:${this.#networks.get(name + to)?.port ?? port}`)]);
    const transport = new HttpTransport({
      ...{ server: name, servers: Object.fromEntries(urls), secret: SECRET, ca: undefined, clock },
      listen: { host: "127.0.0.1", port, tls: undefined },
      troubles: new WarningLog(clock, name),
      onMet: () => undefined,
    });
    const server = new Server({ name, names, clock, disk, transport });
    const process = { clock, server, disk, transport };
    this.#processes.set(name, process);
    server.start().catch((cause: unknown) => (this.#failure ??= { cause }));
    return process;
  }

  async close(): Promise<void> {
    for (const name of this.#processes.keys()) this.kill(name, false);
    await Promise.all([...this.#processes.values()].map(async ({ ended }) => await ended));
    await Promise.all([...this.#networks.values()].map((network) => network.stop()));
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A server's file. Each sync takes a while longer than the real disk needs. */
class SlowDisk implements Disk {
  readonly #directory: string;
  readonly #syncMs: number;
  readonly #before: Promise<unknown> | undefined;
  readonly #file: StateFile;
  #isKilled = false;
  #fails: "at once" | "never ending" | undefined;

  /** @param before resolves once the process before this one writes no more. */
  constructor(directory: string, syncMs: number, before: Promise<unknown> | undefined) {
    this.#directory = directory;
    this.#syncMs = syncMs;
    this.#before = before;
    this.#file = new StateFile(directory, () => undefined);
  }

  async read(): Promise<string | undefined> {
    await this.#before;
    await mkdir(this.#directory, { recursive: true });
    await this.#file.load();
    await this.#file.setRoster({ server: "", names: [], met: [], hasBegun: true });
    return await this.#file.read();
  }

  async write(text: string): Promise<void> {
    await sleep(systemClock, this.#syncMs);
    if (this.#isKilled || this.#fails === "never ending") return await new Promise(() => undefined);
    if (this.#fails) throw new Error("no space left");
    await this.#file.write(text);
  }

  fail(hangs: boolean): void {
    this.#fails = hangs ? "never ending" : "at once";
  }

  /** Ends all writes, except for one that is under way. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    await this.#file.close();
  }
}
