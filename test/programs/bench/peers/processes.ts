import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import { overlapMs, type Span } from "@leasehold/test-kit/judge";
import { spellsOf } from "./beliefs.ts";
import type { CandidateLine, Command } from "./candidate.ts";
import { contenderOf, type ContenderName } from "./contenders.ts";
import { SERVICES } from "./services.ts";

const LOOK_MS = 20;

/** One process that competes, and its own connection to the service. */
export class Member implements AsyncDisposable {
  readonly lines: CandidateLine[] = [];
  readonly proxy: TcpFaultProxy;
  /** How many requests it has sent, and when the last. */
  requests = 0;
  requestMs = 0;
  endedMs: number | undefined;
  #process: LineProcess<CandidateLine> | undefined;

  private constructor(proxy: TcpFaultProxy) {
    this.proxy = proxy;
  }

  static async start(contender: ContenderName, port: number, election: string, leaseDurationMs: number): Promise<Member> {
    const { requestsIn } = SERVICES[contenderOf(contender).service];
    const proxy = await startTcpFaultProxy(port, (bytes) => member.#count(requestsIn(bytes)));
    const member = new Member(proxy);
    member.#process = new LineProcess<CandidateLine>({
      program: new URL("./candidate.ts", import.meta.url),
      settings: { contender, host: proxy.host, election, leaseDurationMs },
      onLine: (line) => member.lines.push(line),
      onEnd: ({ atMs }) => (member.endedMs ??= atMs),
    });
    await member.said("ready");
    return member;
  }

  /** True if it leads, by its last line. */
  get leads(): boolean {
    return this.endedMs === undefined && this.spells().at(-1)?.toMs === Number.POSITIVE_INFINITY;
  }

  spells(): Span[] {
    return spellsOf(this.lines, this.endedMs ?? Number.POSITIVE_INFINITY);
  }

  tell(command: Command): void {
    this.#process?.send(command);
  }

  /** Waits for its next line of an event. @throws if its process ends. */
  async said<Event extends CandidateLine["event"]>(event: Event, afterMs = 0): Promise<CandidateLine & { event: Event }> {
    for (;;) {
      const found = this.lines.find((line) => line.event === event && line.atMs > afterMs);
      if (found) return found as CandidateLine & { event: Event };
      if (this.endedMs !== undefined) throw new Error(`A candidate has ended: ${this.#process?.stderr}`);
      await delay(LOOK_MS);
    }
  }

  async kill(): Promise<void> {
    this.endedMs = hostMs();
    await this.#process?.end();
  }

  async freeze(): Promise<void> {
    await this.#process?.freeze();
  }

  thaw(): void {
    this.#process?.thaw();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.proxy.stop();
  }

  #count(requests: number): void {
    if (requests > 0) this.requestMs = hostMs();
    this.requests += requests;
  }
}

/** A leader and a standby of one library, in an election of their own. */
export class Crew implements AsyncDisposable {
  readonly members: Member[] = [];
  readonly #start: () => Promise<Member>;

  constructor(contender: ContenderName, port: number, leaseDurationMs: number) {
    const election = `bench-${randomUUID()}`;
    this.#start = () => Member.start(contender, port, election, leaseDurationMs);
  }

  /** Starts one more process that competes. */
  async join(): Promise<Member> {
    const member = await this.#start();
    this.members.push(member);
    member.tell({ kind: "campaign" });
    return member;
  }

  get running(): readonly Member[] {
    return this.members.filter(({ endedMs }) => endedMs === undefined);
  }

  get leaders(): readonly Member[] {
    return this.members.filter(({ leads }) => leads);
  }

  /** Waits until exactly one leads. @returns nothing if that does not happen in time */
  async oneLeader(withinMs: number): Promise<Member | undefined> {
    return await this.#sees(withinMs, () => (this.leaders.length === 1 ? this.leaders[0] : undefined));
  }

  /** Waits for another leader. @returns nothing if none comes in time */
  async otherLeader(than: Member | undefined, withinMs: number): Promise<Member | undefined> {
    return await this.#sees(withinMs, () => this.leaders.find((member) => member !== than));
  }

  overlapMs(fromMs: number): number {
    return overlapMs(
      this.members.flatMap((member) => member.spells()),
      fromMs,
      hostMs(),
    );
  }

  async #sees(withinMs: number, look: () => Member | undefined): Promise<Member | undefined> {
    for (const untilMs = hostMs() + withinMs; hostMs() < untilMs; await delay(LOOK_MS)) {
      const found = look();
      if (found) return found;
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map(async (member) => member[Symbol.asyncDispose]()));
  }
}
