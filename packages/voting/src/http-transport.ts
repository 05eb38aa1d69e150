import type { Server as HttpServer } from "node:http";
import { Server as TlsServer } from "node:https";
import { ConfigurationError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import type { Authority } from "./certificates.ts";
import { listen, type ListenOptions, type Received, type Response } from "./http-listener.ts";
import { NoAnswer, HttpClient } from "./http-client.ts";
import { PeerIncarnations, TakenIds } from "./peer-incarnations.ts";
import { OBSERVER, type VoterReply, type Envelope, type Request } from "./messages.ts";
import type { VotingTls } from "./options.ts";
import { Outbox, type SendPacket } from "./outbox.ts";
import { bareHeader, PacketClient } from "./packet-client.ts";
import { packetOf, Seal, type Header, type Packet, type Refusal, type Reply, type Secret } from "./packet.ts";
import { clusterOf, differenceOf, distanceOf, inWords } from "./roster.ts";
import type { Transport } from "./peer-links.ts";
import type { WarningLog } from "./warning-log.ts";

type Receive = Parameters<Transport["listen"]>[0];

/** The requests of an observer that change nothing. */
const REPEATABLE: ReadonlySet<Request["kind"]> = new Set(["READ", "TELL"]);
/** The time that a server has to say which start it is. Without others it does not start without that answer. */
const ASK_TIMEOUT_MS = 1_000;
const ASK_ALONE_TIMEOUT_MS = 10_000;

export interface HttpTransportOptions {
  readonly server: string;
  readonly servers: Readonly<Record<string, URL>>;
  readonly secret: Secret;
  readonly listen: ListenOptions;
  readonly ca: Authority;
  /** Called for each request, since the certificates may have changed. */
  readonly readTlsAgain?: (() => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly troubles: WarningLog;
  /** Called when another server with the same list is met for the first time. */
  readonly onMet: (name: string) => void;
}

/** Carries messages over HTTP. Its packets are signed, are for one start of the receiver, and are accepted once. */
export class HttpTransport implements Transport {
  readonly #options: HttpTransportOptions;
  readonly #names: readonly string[];
  readonly #cluster: string;
  readonly #seal: Seal;
  readonly #http = new HttpClient();
  readonly #client: PacketClient;
  readonly #outboxes = new Map<string, Outbox>();
  readonly #live = new PeerIncarnations((name) => this.#startAt(name, ASK_TIMEOUT_MS).catch(() => undefined));
  readonly #observed = new TakenIds();
  #isClosed = false;
  #start = "";
  #receive: Receive | undefined;
  #listening: HttpServer | undefined;
  /** The reason for which this server has stopped. */
  #stopped: ConfigurationError | undefined;

  constructor(options: HttpTransportOptions) {
    const { servers, server, secret, ca, clock } = options;
    this.#options = options;
    this.#names = Object.keys(servers);
    this.#cluster = clusterOf(this.#names);
    this.#seal = new Seal(secret);
    this.#http.trust(ca);
    this.#client = new PacketClient({ clock, seal: this.#seal, http: this.#http, servers: this.#names });
    for (const name of this.#names) {
      if (name === server) continue;
      this.#outboxes.set(name, new Outbox(clock, (messages, signal) => this.#sendPacket(messages, signal)));
    }
  }

  async send(message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    if (this.#stopped) throw this.#stopped;
    const outbox = this.#outboxes.get(message.to);
    if (!outbox) throw new Error(`There is no server ${message.to}.`);
    return await outbox.send(message, timeoutMs);
  }

  /** @throws {ConfigurationError} if this server cannot listen, or another one is at its address. */
  async listen(receive: Receive, start: string): Promise<void> {
    this.#start = start;
    this.#receive = receive;
    this.#listening = await listen(this.#options.listen, {
      isPromised: (signature, length) => this.#seal.isPromised(signature, length),
      answer: (posted, keep) => this.#answer(posted, keep),
    });
    try {
      await this.#findOneself();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Uses these certificates for the connections that are made from now on. */
  useTls({ key, cert, ca }: VotingTls): void {
    if (this.#listening instanceof TlsServer) this.#listening.setSecureContext({ key, cert });
    this.#http.trust(ca);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#http.close();
    const listening = this.#listening;
    if (!listening) return;
    const closed = new Promise((resolve) => void listening.close(resolve));
    listening.closeAllConnections();
    await closed;
  }

  /** Checks that this process is at the address of its own name. The others hear only the process at that address. */
  async #findOneself(): Promise<void> {
    const { server, servers, troubles } = this.#options;
    const at = `The address of '${server}', ${servers[server]?.origin},`;
    const isAlone = this.#names.length === 1;
    const asked = this.#startAt(server, isAlone ? ASK_ALONE_TIMEOUT_MS : ASK_TIMEOUT_MS);
    const found = await asked.catch((error: unknown) => error as Error);
    if (found === this.#start) return;
    if (typeof found === "string") {
      throw new ConfigurationError(
        `${at} leads to another process that serves as '${server}': stop that one, or give each its own name.`,
      );
    }
    const words = `${at} does not lead to this process: ${found.message}`;
    // With other servers, a warning is enough: they notice if the address leads to another process later.
    if (isAlone) throw new ConfigurationError(words, { cause: found });
    troubles.tell(words);
  }

  /** Asks which start answers at a server's address. */
  async #startAt(name: string, timeoutMs: number): Promise<string> {
    const { server: from } = this.#options;
    const header = bareHeader({ cluster: this.#cluster, from, to: name, start: this.#start, toStart: undefined });
    return (await this.#client.within(timeoutMs, (signal) => this.#exchange(header, [], signal))).start;
  }

  async #sendPacket(messages: readonly Envelope<Request>[], signal: AbortSignal): ReturnType<SendPacket> {
    const contents = messages.map(({ content }) => content);
    // The last message has the latest write counters.
    const { content: _, ...header } = messages.at(-1) as Envelope<Request>;
    const { cluster, from, to, start, toStart, writes, seen, ...reply } = await this.#exchange(header, contents, signal);
    const of = { cluster, from, to, start, toStart, writes, seen };
    return reply.contents.map((content) => (content ? { ...of, content } : undefined));
  }

  /** Sends one packet. Warns about a failure at once if a person has to correct it; otherwise once the failure lasts. */
  async #exchange(header: Header, contents: readonly Request[], signal: AbortSignal): Promise<Reply> {
    const { to } = header;
    const { troubles, server } = this.#options;
    void this.#options.readTlsAgain?.();
    try {
      const reply = await this.#post(header, contents, signal);
      troubles.ends(to);
      if (to !== server && this.#live.answers(to, reply.start)) this.#options.onMet(to);
      return reply;
    } catch (error) {
      if (!this.#isClosed && error instanceof NoAnswer && to !== server) {
        if (error.isMistake) troubles.tell(error.message);
        else troubles.lasts(to, error.message);
      }
      throw error;
    }
  }

  async #post(header: Header, contents: readonly Request[], signal: AbortSignal): Promise<Reply> {
    const { to } = header;
    const url = this.#options.servers[to];
    if (!url) throw new Error(`There is no server ${to}.`);
    const reply = await this.#client.post(to, url, header, contents, signal);
    if (reply.refused) throw this.#refusedBy(to, url, reply, reply.refused);
    if (reply.from !== to || reply.cluster !== this.#cluster) throw this.#refusedBy(to, url, reply, "misdirected");
    return reply;
  }

  /** The error for a packet that another server has refused. */
  #refusedBy(name: string, url: URL, { from, servers }: Reply, refused: Refusal): Error {
    const { server } = this.#options;
    const mistake = (message: string): NoAnswer => new NoAnswer(message, true);
    if (refused === "replay") return new NoAnswer(`${name} has taken this packet before.`, false);
    if (refused === "misdirected")
      return mistake(`the server at ${url.origin} is '${from}' rather than '${name}': correct the addresses.`);
    if (refused === "start") {
      const own = `the address of '${server}', ${this.#options.servers[server]?.origin}`;
      return mistake(`${name} does not hear this process, since it does not find it at ${own}: is another process there?`);
    }
    const difference = differenceOf(this.#names, servers);
    const words = `the list of servers here ${inWords(difference)}, compared with that of ${name}`;
    if (distanceOf(difference) <= 1 || this.#live.hasAnswer) return mistake(`${words}: give all servers the same.`);
    const next = "Add or remove one server at a time, on all of them before the next.";
    return (this.#stopped ??= new ConfigurationError(`${words}: this server has stopped. ${next}`));
  }

  /** Answers a request of another server, or of a process that pretends to be one. */
  async #answer(posted: Received, keep: () => void): Promise<Response> {
    const { troubles } = this.#options;
    void this.#options.readTlsAgain?.();
    if (posted === "oversized") troubles.drops("oversized");
    if (posted === "oversized" || posted === "elsewhere") return posted;
    if (posted === "signature" || !this.#seal.isOurs(posted.body, posted.signature)) {
      troubles.drops("signature");
      troubles.tell("a packet that another secret has signed, or none, was dropped: give all servers the same secret.");
      return "signature";
    }
    const packet = packetOf(posted.body);
    if (!packet) {
      troubles.drops("malformed");
      return "malformed";
    }
    const refused = await this.#refusalOf(packet);
    if (refused) {
      troubles.drops(refused, packet.from);
      return this.#signed(packet, { refused, contents: [] });
    }
    // Anybody may send such packets of an observer, or without messages, again.
    if (packet.from !== OBSERVER && packet.contents.length > 0) keep();
    const { id: _id, servers: _servers, contents, ...header } = packet;
    // A message of a later version is dropped; the messages beside it are not.
    for (const content of contents) if (!content) troubles.drops("malformed", packet.from);
    const answers = await Promise.all(
      contents.map(async (content) => (content ? await this.#receive?.({ ...header, content }) : undefined)),
    );
    const last = answers.findLast((answer) => answer !== undefined);
    const { writes = 0, seen = 0 } = last ?? {};
    return this.#signed(packet, { writes, seen, contents: answers.map((answer) => answer?.content ?? null) });
  }

  async #refusalOf(packet: Packet<Request | undefined>): Promise<Refusal | undefined> {
    const { server, troubles } = this.#options;
    const { to, from, start, id, contents, cluster, servers } = packet;
    if (from === OBSERVER) return this.#refusalOfObserver(packet);
    if (to !== server) return "misdirected";
    if (cluster !== this.#cluster) {
      const difference = inWords(differenceOf(servers, this.#names));
      troubles.tell(`the list of servers of ${from} ${difference}, compared with the one here: give all servers the same.`);
      return "lists";
    }
    // Every server of the list may ask which start is here.
    if (contents.length === 0) return undefined;
    if (this.#stopped || !this.#outboxes.has(from)) return "misdirected";
    if (!(await this.#live.isLive(from, start))) return "start";
    if (!this.#live.isNew(from, id)) return "replay";
    return undefined;
  }

  /** An observer's order is for one start of one server, and is accepted once. Its reads may be repeated. */
  #refusalOfObserver({ to, toStart, start, id, contents }: Packet<Request | undefined>): Refusal | undefined {
    const isOrder = (content: Request | undefined): boolean => content !== undefined && !REPEATABLE.has(content.kind);
    if (!contents.some(isOrder)) return undefined;
    if (to !== this.#options.server) return "misdirected";
    if (toStart !== this.#start) return "start";
    return this.#observed.isNew(start, id) ? undefined : "replay";
  }

  #signed({ from, start, id }: Header & { readonly id: number }, said: Pick<Reply, "contents"> & Partial<Reply>): Response {
    const header = { cluster: this.#cluster, from: this.#options.server, to: from, start: this.#start, toStart: start };
    const reply: Reply = { ...bareHeader(header), id, servers: this.#names, isReply: true, ...said };
    const body = JSON.stringify(reply);
    return { body, signature: this.#seal.sign(body) };
  }
}
