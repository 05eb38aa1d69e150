import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import type { Seat, StoreSettings } from "@leasehold/test-kit/stores/test-store";
import type { LinkFault } from "./faults.ts";

/** The only connection of one worker to the store. */
export interface Link extends AsyncDisposable {
  /** The settings with which the worker finds the store. */
  readonly settings: StoreSettings;
  /** Begins a fault, which replaces the one before. @param ms for how long `delay` holds all data, in each direction */
  impose(fault: LinkFault, ms: number): void;
  /** Ends the fault. A severed link stays severed. */
  heal(): void;
  /** Lets no data pass any more, for ever. */
  sever(): void;
}

/** Opens a link to the service, through a proxy of its own. SQLite has no service, and no proxy. */
export async function openLink(service: StoreSettings): Promise<Link> {
  const { store } = service;
  if (store === "quorum") return await openMemberLinks(service);
  if (store === "sqlite") return directLink(service);
  // If the proxy knows the protocol, it handles whole requests and replies; otherwise bytes.
  if (store === "azure" || store === "dynamodb") {
    const proxy = await startFaultProxy(service["url"]!);
    return new HttpLink(proxy, { ...service, url: proxy.url });
  }
  return await openTcpLink(service);
}

/** Returns one link for all connections between the server of one worker and the other servers. They end with the service. */
export function seatLink({ settings, links }: Seat): Link {
  const { [Symbol.asyncDispose]: _, ...link } = together(
    settings,
    links.map((proxy) => new TcpLink(proxy, settings)),
  );
  return { ...link, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function openTcpLink(service: StoreSettings): Promise<Link> {
  const { hostname, port } = addressOf(service);
  if (hostname !== "127.0.0.1") throw new Error(`The service is at ${hostname}, and a proxy leads to this machine only.`);
  const proxy = await startTcpFaultProxy(Number(port));
  return new TcpLink(proxy, throughPort(service, proxy.port));
}

function directLink(settings: StoreSettings): Link {
  const none = (): never => {
    throw new Error("SQLite has no network that could fail.");
  };
  return { settings, impose: none, sever: none, heal: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
}

class HttpLink implements Link {
  readonly settings: StoreSettings;
  readonly #proxy: FaultProxy;
  #isSevered = false;
  #release: (() => void) | undefined;

  constructor(proxy: FaultProxy, settings: StoreSettings) {
    this.#proxy = proxy;
    this.settings = settings;
  }

  impose(fault: LinkFault, ms: number): void {
    this.heal();
    switch (fault) {
      case "lose-requests":
        this.#proxy.rule = () => ({ kind: "black-hole", side: "request" });
        return;
      case "lose-replies":
        this.#proxy.rule = () => ({ kind: "black-hole", side: "reply" });
        return;
      case "partition":
        this.#proxy.partition(true);
        return;
      case "delay":
        this.#proxy.rule = () => ({ kind: "delay", requestMs: ms, replyMs: ms });
        return;
      case "hold": {
        const { promise: until, resolve } = Promise.withResolvers<void>();
        this.#release = resolve;
        this.#proxy.rule = () => ({ kind: "hold", until });
        return;
      }
      case "stop":
        this.#proxy.rule = () => ({ kind: "cut", side: "before" });
        return;
      case "cut-mid-reply":
        this.#proxy.rule = () => ({ kind: "cut", side: "mid-reply" });
    }
  }

  heal(): void {
    // The records of the proxy are not used.
    this.#proxy.clear();
    this.#release?.();
    this.#release = undefined;
    this.#proxy.rule = undefined;
    this.#proxy.partition(this.#isSevered);
  }

  sever(): void {
    this.#isSevered = true;
    this.heal();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy.stop();
  }
}

class TcpLink implements Link {
  readonly settings: StoreSettings;
  readonly #proxy: TcpFaultProxy;
  #isSevered = false;

  constructor(proxy: TcpFaultProxy, settings: StoreSettings) {
    this.#proxy = proxy;
    this.settings = settings;
  }

  impose(fault: LinkFault, ms: number): void {
    this.heal();
    if (this.#isSevered) return;
    switch (fault) {
      case "lose-requests":
        this.#proxy.loseRequests();
        return;
      case "lose-replies":
        this.#proxy.loseReplies();
        return;
      case "partition":
        this.#partition();
        return;
      case "delay":
        this.#proxy.delay(ms);
        return;
      case "hold":
        this.#proxy.holdRequests();
        return;
      case "stop":
        this.#proxy.cut();
        return;
      case "cut-mid-reply":
        this.#proxy.cutReplies();
    }
  }

  heal(): void {
    if (!this.#isSevered) this.#proxy.heal();
  }

  sever(): void {
    this.#isSevered = true;
    this.#partition();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy.stop();
  }

  #partition(): void {
    this.#proxy.loseRequests();
    this.#proxy.loseReplies();
  }
}

/** Opens one link for the stores that hold the leases together. A fault of it hits all of them. SQLite is always in reach. */
async function openMemberLinks(service: StoreSettings): Promise<Link> {
  const links = await Promise.all([
    openTcpLink({ store: "dynamodb", url: service["dynamodb"]! }),
    openTcpLink({ store: "firestore", host: service["firestore"]! }),
  ]);
  const [dynamodb, firestore] = links.map(({ settings }) => settings);
  return together({ ...service, dynamodb: dynamodb!["url"]!, firestore: firestore!["host"]! }, links);
}

/** Returns one link for several. A fault of it hits all of them. */
function together(settings: StoreSettings, links: readonly Link[]): Link {
  return {
    settings,
    impose: (fault, ms) => links.forEach((link) => link.impose(fault, ms)),
    heal: () => links.forEach((link) => link.heal()),
    sever: () => links.forEach((link) => link.sever()),
    [Symbol.asyncDispose]: async () => void (await Promise.all(links.map((link) => link[Symbol.asyncDispose]()))),
  };
}

/** Returns the address of a service whose client has a `url` or a `host`. */
function addressOf(settings: StoreSettings): URL {
  return new URL(settings["url"] ?? `tcp://${settings["host"]}`);
}

function throughPort(settings: StoreSettings, port: number): StoreSettings {
  const address = addressOf(settings);
  address.port = String(port);
  return { ...settings, ...(settings["url"] === undefined ? { host: address.host } : { url: address.href }) };
}
