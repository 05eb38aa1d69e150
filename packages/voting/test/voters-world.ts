import { ProcessClock, type SeededRandom } from "@leasehold/core/testing";
import type { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { rosterAtStart, type Roster } from "../src/roster.ts";
import {
  Server,
  VotingLeaseStore,
  type VoterReply,
  type Disk,
  type Envelope,
  type Request,
  type Transport,
} from "../src/simulation.ts";

/** The longest sync of a disk, and the longest way of a message without faults. */
const SYNC_MS = 8;
const FAIR_WEATHER_MS = 15;
const KEPT_CONTENTS = 6;
const NOTHING: Contents = { roster: undefined, text: undefined };

/** A process that is one of the servers. */
export interface Host {
  readonly name: string;
  readonly clock: ProcessClock;
  /** The rate of the faster one of its clocks. */
  readonly rate: number;
  readonly server: Server;
  readonly store: VotingLeaseStore;
}

/** The probability of each fault of a message. */
export interface NetworkFaults {
  readonly losesRequest: number;
  readonly losesReply: number;
  readonly late: number;
  readonly slow: number;
  readonly twice: number;
}

type Receive = (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>;

interface Contents {
  readonly roster: Roster | undefined;
  readonly text: string | undefined;
}

/** The present content of a server's disk, and its former contents. */
interface Content {
  present: Contents;
  past: Contents[];
}

export interface VotersWorldOptions {
  readonly time: TrueTime;
  readonly random: SeededRandom;
  readonly networkFaults: NetworkFaults;
  /** The unit of delays, in milliseconds. */
  readonly leaseMs: number;
  /** Claims state that they take no time. So no voter refuses a claim for another one, and only its votes decide. */
  readonly claimsAtOnce: boolean;
  readonly note: (who: string, what: string) => void;
  readonly sends: (request: Request) => void;
  /** A server has answered another one, even if the answer is lost. */
  readonly answers: (message: Envelope<Request>, answer: VoterReply) => void;
}

/** Servers, each in a process with clocks of its own, their disks, and the messages between them. */
export class VotersWorld {
  readonly #options: VotersWorldOptions;
  readonly #random: SeededRandom;
  readonly #time: TrueTime;
  readonly #rates = new Map<string, number>();
  readonly #hosts = new Map<string, Host>();
  readonly #receivers = new Map<string, Receive>();
  /** For each start, the present start of another server from which it last had a message or an answer. */
  readonly #heard = new WeakMap<ProcessClock, Map<string, ProcessClock>>();
  readonly #disks = new Map<string, Content>();
  /** The disks that cannot be written. */
  readonly #full = new Set<string>();
  readonly #asksUntilMs = new Map<string, number>();
  readonly #lists = new Map<string, readonly string[]>();
  /** The links that carry nothing, each as the sender's name and the receiver's. */
  readonly cut = new Set<string>();
  isCalm = false;

  constructor(options: VotersWorldOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#time = options.time;
  }

  host(name: string): Host | undefined {
    return this.#hosts.get(name);
  }

  /** Returns a process that is neither killed nor frozen. */
  running(name: string): Host | undefined {
    const host = this.#hosts.get(name);
    return host?.clock.running === true ? host : undefined;
  }

  takesPart(name: string): boolean {
    return this.running(name)?.server.takesPart === true;
  }

  /** The list that a server was started with last. */
  listOf(name: string): readonly string[] | undefined {
    return this.#lists.get(name);
  }

  kill(name: string): void {
    this.#hosts.get(name)?.clock.kill();
  }

  killAll(): void {
    for (const { clock } of this.#hosts.values()) clock.kill();
  }

  /** Removes a server from the servers. */
  remove(name: string): void {
    this.kill(name);
    this.#lists.delete(name);
  }

  wipe(name: string): void {
    this.#diskOf(name).present = NOTHING;
  }

  hasPast(name: string): boolean {
    return this.#diskOf(name).past.length > 0;
  }

  /** Gives a server an older file. For `asksForMs`, its TELLs reach the others in any networkFaults. */
  rollBack(name: string, asksForMs: number): void {
    const disk = this.#diskOf(name);
    disk.present = this.#random.pick(disk.past);
    this.#asksUntilMs.set(name, this.#time.monotonicMs() + asksForMs);
  }

  /** Fills a disk until its server is started again. */
  fillDisk(name: string): void {
    this.#full.add(name);
  }

  /**
   * Starts a server that is down, with its former list or with another one.
   *
   * @throws {ConfigurationError} if the server may not have that list yet.
   */
  start(name: string, names: readonly string[] | undefined = this.#lists.get(name)): void {
    if (!names) return;
    const disk = this.#diskOf(name);
    // The roster is not kept before there are votes to keep.
    const before = disk.present.text === undefined ? undefined : disk.present.roster;
    const { roster, isMoved } = rosterAtStart(before, { server: name, names }, "its directory");
    this.kill(name);
    disk.present = { ...disk.present, roster };
    // An older file always has the same list.
    if (isMoved) disk.past = [];
    this.#lists.set(name, names);
    this.#full.delete(name);
    this.#begin(name, names, isMoved);
  }

  #begin(name: string, names: readonly string[], isMoved: boolean): void {
    const { note } = this.#options;
    const rate = this.#rateOf(name);
    const clock = new ProcessClock(this.#time, { rate });
    const transport: Transport = {
      send: (message, timeoutMs) => this.#carry(clock, message, timeoutMs),
      listen: (receive) => Promise.resolve(void this.#receivers.set(name, receive)),
      close: () => Promise.resolve(),
    };
    this.#receivers.delete(name);
    const disk = this.#open(name, clock);
    const onBegun = (): void => this.#keeps(name, clock, () => ({ hasBegun: true }));
    const server = new Server({ name, names, clock, disk, isMoved, onBegun, transport });
    this.#hosts.set(name, { name, clock, rate, server, store: new VotingLeaseStore(server) });
    note(name, `starts, of ${names.join("")}`);
    void server.start();
  }

  /** A machine keeps its clocks. */
  #rateOf(name: string): number {
    const rate = this.#rates.get(name) ?? this.#random.pick([0.95, 1, 1.05]);
    this.#rates.set(name, rate);
    return rate;
  }

  #diskOf(name: string): Content {
    const disk = this.#disks.get(name) ?? { present: NOTHING, past: [] };
    this.#disks.set(name, disk);
    return disk;
  }

  #open(name: string, clock: ProcessClock): Disk {
    const disk = this.#diskOf(name);
    const isFull = (): boolean => this.#full.has(name) && !this.isCalm;
    const put = (text: string): void => {
      disk.past.push(disk.present);
      if (disk.past.length > KEPT_CONTENTS) disk.past.shift();
      disk.present = { ...disk.present, text };
    };
    return {
      read: () => Promise.resolve(disk.present.text),
      write: (text) =>
        new Promise((resolve, reject) => {
          const write = (): void => {
            // The last write of a killed process may be on the disk, or not.
            const isThere = clock.alive || (this.#hosts.get(name)?.clock === clock && this.#random.chance(0.5));
            if (isThere && !isFull()) put(text);
            clock.deliver(() => (isFull() ? reject(new Error("no space left")) : resolve()));
          };
          this.#time.setTimer(write, this.#random.between(0.1, SYNC_MS));
        }),
    };
  }

  /** Carries a message to another server, and its answer back. The receiver carries it out even if the sender is dead by then. */
  #carry(clock: ProcessClock, sent: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    const message = this.#options.claimsAtOnce ? atOnce(sent) : sent;
    const { to, from, content } = message;
    this.#options.sends(content);
    const asks = content.kind === "TELL" && (this.#asksUntilMs.get(from) ?? -Infinity) > this.#time.monotonicMs();
    const isCut = (one: string, other: string): boolean => !asks && this.cut.has(one + other);
    // A receiver that does not know the sender's start first asks at the sender's address. Then it has met the sender.
    const canAsk = (): boolean =>
      this.#hosts.get(from)?.clock === clock && clock.running && !this.cut.has(to + from) && !this.cut.has(from + to);
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => reject(new Error(`${to} does not answer.`)), timeoutMs);
      const answered = (answer: Envelope<VoterReply>): void => {
        timer.cancel();
        if (this.#hosts.get(from)?.clock === clock) this.#meets(from, to);
        resolve(answer);
      };
      for (const { afterMs, replyAfterMs } of this.#passage(asks, timeoutMs)) {
        this.#time.setTimer(() => {
          if (isCut(from, to)) return;
          const receiver = this.#hosts.get(to)?.clock;
          receiver?.deliver(() => {
            if (!this.#isLive(from, to, clock)) return;
            void this.#receivers
              .get(to)?.(message)
              .then((answer) => {
                if (answer) this.#options.answers(message, answer.content);
                if (answer && canAsk()) this.#meets(to, from);
                if (replyAfterMs === undefined || !answer || isCut(to, from)) return;
                const reply = (): void => {
                  this.#hears(clock, to, receiver);
                  answered(answer);
                };
                this.#time.setTimer(() => clock.deliver(reply), replyAfterMs);
              });
          });
        }, afterMs);
      }
    });
  }

  #passage(asks: boolean, timeoutMs: number): ReadonlyArray<{ readonly afterMs: number; readonly replyAfterMs?: number }> {
    const random = this.#random;
    const { networkFaults, leaseMs } = this.#options;
    const there = 0.1 + random.next() * FAIR_WEATHER_MS;
    const back = 0.1 + random.next() * FAIR_WEATHER_MS;
    if (asks || this.isCalm) return [{ afterMs: there, replyAfterMs: back }];
    if (random.chance(networkFaults.losesRequest)) return [];
    if (random.chance(networkFaults.losesReply)) return [{ afterMs: there }];
    const late = there + random.between(0, 2.5) * leaseMs;
    if (random.chance(networkFaults.late)) return [{ afterMs: late, replyAfterMs: back }];
    if (random.chance(networkFaults.twice)) {
      return [
        { afterMs: there, replyAfterMs: back },
        { afterMs: late, replyAfterMs: back },
      ];
    }
    if (!random.chance(networkFaults.slow)) return [{ afterMs: there, replyAfterMs: back }];
    const slow = random.between(0, timeoutMs / 2);
    return [{ afterMs: there + slow, replyAfterMs: back + random.between(0, timeoutMs / 2) }];
  }

  /** A receiver that has heard of the sender's present start accepts nothing of an earlier one. */
  #isLive(from: string, to: string, sender: ProcessClock): boolean {
    const receiver = this.#hosts.get(to)?.clock;
    if (!receiver) return false;
    this.#hears(receiver, from, sender);
    const present = this.#hosts.get(from)?.clock;
    return sender === present || this.#heard.get(receiver)?.get(from) !== present;
  }

  #hears(receiver: ProcessClock, from: string, sender: ProcessClock): void {
    const heard = this.#heard.get(receiver) ?? new Map<string, ProcessClock>();
    this.#heard.set(receiver, heard);
    if (this.#hosts.get(from)?.clock === sender) heard.set(from, sender);
  }

  /** Records that a server has met another one with its list. */
  #meets(name: string, other: string): void {
    const clock = this.#hosts.get(name)?.clock;
    if (clock) this.#keeps(name, clock, ({ met }) => (met.includes(other) ? {} : { met: [...met, other] }));
  }

  /** Keeps a change of the roster beside the votes. */
  #keeps(name: string, clock: ProcessClock, changed: (roster: Roster) => Partial<Roster>): void {
    const disk = this.#diskOf(name);
    const { roster } = disk.present;
    if (!roster || this.#hosts.get(name)?.clock !== clock) return;
    disk.present = { ...disk.present, roster: { ...roster, ...changed(roster) } };
  }
}

function atOnce(message: Envelope<Request>): Envelope<Request> {
  const { content } = message;
  if (content.kind !== "ELECT" || content.claimMs === 0) return message;
  return { ...message, content: { ...content, claimMs: Number.MIN_VALUE } };
}
