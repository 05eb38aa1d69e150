import { handled, type RedisConnection, type RedisDriver, type Send } from "./driver.ts";

/**
 * Clients that make no connection for another owner. The store sends on the user's own connection, and leaves it open. It
 * subscribes to nothing, so standbys poll. Such a client may send a write late; then the server refuses it by its clock. GLIDE's
 * client of one server never looks for another primary.
 */

/** The part of a client of Valkey GLIDE that is used here. */
interface Glide {
  customCommand(command: readonly string[], options?: { readonly route: Route }): Promise<unknown>;
}
type Route = "allPrimaries" | { readonly type: "routeByAddress"; readonly host: string };

/** The part of a client of Upstash that is used here. It sends one command, and leaves the reply as it is. */
interface Upstash {
  readonly client: {
    request(request: {
      readonly body: readonly string[];
      readonly signal: () => AbortSignal;
    }): Promise<{ readonly result: unknown }>;
  };
}

/** GLIDE replaces the first words of Redis' errors by these names. */
const WORDS: Readonly<Record<string, string>> = {
  Ask: "ASK",
  BusyLoadingError: "LOADING",
  ClusterDown: "CLUSTERDOWN",
  CrossSlot: "CROSSSLOT",
  MasterDown: "MASTERDOWN",
  Moved: "MOVED",
  NoScriptError: "NOSCRIPT",
  PermissionDenied: "NOPERM",
  ReadOnly: "READONLY",
  ResponseError: "ERR",
  TryAgain: "TRYAGAIN",
};

/** Returns the driver of such a client; `undefined` for any other object. */
export function lentClientDriver(client: object): RedisDriver | undefined {
  if (isGlide(client)) {
    const isCluster = typeof (client as { readonly invokeScriptWithRoute?: unknown }).invokeScriptWithRoute === "function";
    const send: Send = async (command) => await glideReply(client, command);
    return isCluster
      ? lent("SPUBLISH", send, () => glidePrimaries(client))
      : lent("PUBLISH", send, () => Promise.resolve([send]));
  }
  if (!isUpstash(client)) return undefined;
  // Its client would send a request again after a lost reply. The second reply does not show whether the first one was applied.
  const once = { client: Object.create(client.client, { retry: { value: { attempts: 0 } } }) as Upstash["client"] };
  const send: Send = async (command, signal) => await upstashReply(once, command, signal);
  return lent("PUBLISH", send, () => Promise.resolve([send]));
}

function isGlide(client: object): client is Glide {
  return typeof (client as Partial<Glide>).customCommand === "function";
}

function isUpstash(client: object): client is Upstash {
  return typeof (client as Partial<Upstash>).client?.request === "function";
}

function lent(publish: RedisDriver["publish"], send: Send, primaries: RedisConnection["primaries"]): RedisDriver {
  const unheard = async (): Promise<void> => await Promise.reject(new Error("The client has no connection that listens."));
  const connection: RedisConnection = {
    ready: handled(Promise.resolve()),
    // Each library finds the server of a key in the command itself.
    send: async (_, command, signal) => await send(command, signal),
    primaries,
    subscribe: unheard,
    unsubscribe: unheard,
    close: () => undefined,
  };
  return { publish, pushes: false, open: () => connection };
}

async function glideReply(glide: Glide, command: readonly string[], route?: Route): Promise<unknown> {
  try {
    const reply = await glide.customCommand(command, route && { route });
    return Array.isArray(reply) ? reply.flatMap(pairOf) : reply;
  } catch (error) {
    const { message } = error as Error;
    const named = /^An error was signalled by the server: - (\w+): (.*)$/s.exec(message);
    const [, name = "", text = ""] = named ?? [];
    throw new Error(named ? `${WORDS[name] ?? name} ${text}` : message, { cause: error });
  }
}

/** Returns the parts of a pair. GLIDE makes a list of pairs of a map, for instance of the reply to CONFIG GET. */
function pairOf(item: unknown): unknown {
  const isPair = typeof item === "object" && item !== null && "key" in item && "value" in item;
  return isPair ? [item.key, item.value] : [item];
}

async function glidePrimaries(glide: Glide): Promise<readonly Send[]> {
  // Each server's reply stands behind its address. Their order differs from call to call.
  const reply = (await glideReply(glide, ["TIME"], "allPrimaries")) as readonly unknown[];
  const hosts = reply
    .filter((_, index) => index % 2 === 0)
    .map(String)
    .toSorted();
  return hosts.map(
    (host): Send =>
      async (command) =>
        await glideReply(glide, command, { type: "routeByAddress", host }),
  );
}

async function upstashReply({ client }: Upstash, body: readonly string[], signal: AbortSignal): Promise<unknown> {
  try {
    return (await client.request({ body, signal: () => signal })).result;
  } catch (error) {
    const { name, message, cause } = error as Error;
    // The text of fetch is the same for every failure. Its cause has the reason.
    if (error instanceof TypeError && cause instanceof Error) throw cause;
    // The library's own text has the whole page.
    if (name === "UpstashJSONParseError") {
      throw new Error("the reply is not of Upstash's REST interface; check the client's url", { cause: error });
    }
    // The library appends the command, which has the nonce.
    throw new Error(message.replace(/, command was: .*$/s, ""), { cause: error });
  }
}
