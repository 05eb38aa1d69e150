import {
  ConfigurationError,
  UnsupportedError,
  type CheckOptions,
  type CheckReport,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
  type ListedElection,
  type ListOptions,
  type ReadOptions,
} from "@leasehold/core";
import {
  systemClock,
  type Clock,
  type StoreMember,
  StoreWarnings,
  checkList,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  timedCheck,
} from "@leasehold/core/provider";
import { AdministeredStore } from "./administered-store.ts";
import { sightedBy } from "./administration.ts";
import { majorityOf } from "./startup-recovery.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { authorityReader, type Authority } from "./certificates.ts";
import { listElections } from "./listing.ts";
import { HttpClient } from "./http-client.ts";
import { OBSERVER, type VoterReply, type Request } from "./messages.ts";
import { checkAddress, checkSecret } from "./options.ts";
import { bareHeader, PacketClient } from "./packet-client.ts";
import { Seal, type Secret } from "./packet.ts";
import { Peers } from "./peers.ts";
import type { Electorate } from "./poll.ts";

export interface VotingObserverOptions {
  /** The addresses of all servers, such as `http://10.0.0.1:7400`, in any order. */
  readonly servers: readonly string[];
  /** The secret of the servers. Of several, the first signs, and all are accepted. */
  readonly secret: Secret;
  /**
   * The authority that has issued the servers' certificates, as PEM. A function is called before the first request, which waits
   * for its result no longer than for an answer. From a minute later on it is called again beside a request, which does not wait.
   * The connections that are made after it has answered use its result.
   * @defaultValue those that Node trusts
   */
  readonly ca?: Authority | (() => Authority | Promise<Authority>);
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/**
 * For processes that are not servers. Reports the leader that a majority of the servers confirms; breaks and transfers terms. It
 * has no vote, and is not a candidate.
 *
 * @throws {ConfigurationError} for options that cannot work. Nothing is sent.
 *
 * @example
 * ```ts
 * const store = new VotingObserver({ servers: ["http://10.0.0.1:7400", "http://10.0.0.2:7400", "http://10.0.0.3:7400"], secret });
 * console.log(await store.read("nightly-billing"));
 * ```
 */
export class VotingObserver extends AdministeredStore implements LeaseStore {
  readonly capabilities: LeaseStoreCapabilities = { ...CAPABILITIES, watch: "poll" };
  readonly warnings: StoreWarnings;
  readonly #electorate: Electorate;
  readonly #poster: HttpClient;
  readonly #line: ObserverClient;

  constructor({ servers, secret, ca, clock = systemClock }: VotingObserverOptions) {
    checkSecret(secret);
    const given: unknown = servers;
    if (!Array.isArray(given) || given.length === 0)
      throw new ConfigurationError("servers must have the address of every server.");
    const urls = new Map(servers.map((address, index) => [address, checkAddress(`server number ${index + 1}`, address)]));
    if (urls.size < servers.length) throw new ConfigurationError("servers has an address twice.");
    const poster = new HttpClient();
    const warnings = new StoreWarnings();
    const trust = authorityReader(
      clock,
      typeof ca === "function" ? ca : () => ca,
      (authority) => poster.trust(authority),
      (message) => warnings.warn("LEASEHOLD_VOTING", message),
    );
    const client = new PacketClient({ clock, seal: new Seal(secret), http: poster, servers: [] });
    const line = new ObserverClient(urls, client, clock, trust);
    const electorate: Electorate = {
      name: OBSERVER,
      everyone: [...urls.keys()],
      majority: majorityOf(urls.size),
      clock,
      ask: (to, request, timeoutMs) => line.ask(to, request, timeoutMs),
      remember: () => Promise.resolve(),
    };
    super(electorate);
    this.warnings = warnings;
    this.#electorate = electorate;
    this.#poster = poster;
    this.#line = line;
  }

  /** The state of all servers, by their last answers. */
  members(): readonly StoreMember[] {
    return this.#line.members();
  }

  /** Reports `unknown` if only a minority of the servers knows the latest term: an election may be under way. */
  async read(
    election: string,
    { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal }: ReadOptions = {},
  ): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const { signs, snapshot } = await sightedBy(this.#electorate, this.clock, election, { timeoutMs, signal });
    if (!snapshot || signs.length >= this.#electorate.majority) return snapshot;
    return { election, state: "unknown", term: snapshot.term };
  }

  /** Lists the elections that a majority of the servers knows, and reads each. */
  list(prefix: string = "", options: ListOptions = {}): AsyncIterable<ListedElection> {
    checkList(prefix, options);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    return listElections(this.#electorate, prefix, limits, (election) => this.read(election, limits));
  }

  nextLookMs(_election: string, retryPeriodMs: number): number {
    return retryPeriodMs;
  }

  /** @throws {UnsupportedError} if a majority answers: a process that is not a server cannot lead. */
  async check({ election, timeoutMs, signal }: CheckOptions): Promise<CheckReport> {
    const look = (): Promise<LeaseSnapshot | undefined> => this.read(election, { timeoutMs, signal });
    return await timedCheck(this.clock, look, notHere);
  }

  /** @throws {UnsupportedError} always: only a server is a candidate. */
  acquire(): Promise<never> {
    return notHere();
  }

  /** @throws {UnsupportedError} always. */
  renew(): Promise<never> {
    return notHere();
  }

  /** @throws {UnsupportedError} always. */
  publish(): Promise<never> {
    return notHere();
  }

  /** @throws {UnsupportedError} always. */
  release(): Promise<never> {
    return notHere();
  }

  /** Closes its connections. */
  close(): Promise<void> {
    return Promise.resolve(this.#poster.close());
  }
}

function notHere(): Promise<never> {
  return Promise.reject(
    new UnsupportedError(
      "This process is no server, and only servers are candidates: it can read who leads, and break or transfer a term.",
    ),
  );
}

/** Carries an observer's requests to all servers. */
class ObserverClient {
  readonly #urls: ReadonlyMap<string, URL>;
  readonly #client: PacketClient;
  readonly #start: string;
  /** The server, and its start, that has answered at each address. */
  readonly #found = new Map<string, { readonly name: string; readonly start: string }>();
  readonly #trust: (signal: AbortSignal) => Promise<void>;
  readonly peers: Peers;

  /** @param trust makes the client trust the servers' authority. Rejects when the signal aborts. */
  constructor(urls: ReadonlyMap<string, URL>, client: PacketClient, clock: Clock, trust: (signal: AbortSignal) => Promise<void>) {
    this.#urls = urls;
    this.#client = client;
    this.#trust = trust;
    this.#start = clock.randomUuid();
    this.peers = new Peers(clock);
  }

  /** The state of all servers. A server that has never answered has the name that another one reports, or else its address. */
  members(): readonly StoreMember[] {
    const names = new Set([...this.#found.values(), ...this.peers.absent].map(({ name }) => name));
    const unheard = [...this.#urls.keys()].filter((address) => !this.#found.has(address));
    return [...names, ...unheard].slice(0, this.#urls.size).map((name) => this.peers.member(name));
  }

  async ask(address: string, request: Request, timeoutMs: number): Promise<VoterReply> {
    const url = this.#urls.get(address) as URL;
    const { name: to = "", start: toStart } = this.#found.get(address) ?? {};
    const header = bareHeader({ cluster: "", from: OBSERVER, to, start: this.#start, toStart });
    const { from, start, servers, refused, contents } = await this.#client.within(timeoutMs, async (signal) => {
      await this.#trust(signal);
      return await this.#client.post("the server", url, header, [request], signal);
    });
    this.#check(address, from, start, servers);
    if (refused) throw new Error(`${from} was started again, or has taken this order before: look again.`);
    const answer = contents[0] ?? { kind: "SILENT" };
    this.peers.heard(from, answer);
    if (answer.kind === "READ") this.peers.told(answer.absent);
    return answer;
  }

  /** Checks that the addresses are those of all servers, each once. Only so is a majority of the addresses one of the servers. */
  #check(address: string, name: string, start: string, servers: readonly string[]): void {
    if (servers.length !== this.#urls.size) {
      const names = servers.join(", ");
      throw new ConfigurationError(`${this.#urls.size} addresses are given, and there are ${servers.length} servers: ${names}.`);
    }
    this.#found.set(address, { name, start });
    const twice = [...this.#found].find(([other, found]) => other !== address && found.name === name);
    if (twice)
      throw new ConfigurationError(`The server '${name}' answers at ${twice[0]} and at ${address}: give each server's own.`);
  }
}
