import { StoreError } from "@leasehold/core";
import { lacksRight, STORE_NAME } from "./redis-errors.ts";
import { textOf, type Send } from "./drivers/driver.ts";

/** The settings that CONFIG GET is asked for. Managed services may refuse that command. */
const SETTINGS = ["appendfsync", "min-replicas-to-write", "maxmemory-policy"];

/** The facts of one server. */
export interface ServerFacts {
  /** The lines of INFO; undefined where the account may not read it. */
  readonly info: ReadonlyMap<string, string> | undefined;
  /** The settings; undefined where the account may not read them. */
  readonly settings: ReadonlyMap<string, string> | undefined;
}

const FAILOVER =
  "Redis replicates after it has answered: a failover may undo the last lease, its term and its fence, so that two candidates lead until one of them reads again. WAIT does not mend that. Where this must not happen, make three servers members of a quorum (@leasehold/quorum).";

/** Asks one server for its facts. */
export async function factsOf(send: Send, signal: AbortSignal): Promise<ServerFacts> {
  const info = await infoOf(send, signal);
  const settings = new Map<string, string>();
  for (const name of SETTINGS) {
    const reply = await send(["CONFIG", "GET", name], signal).catch(() => undefined);
    const pairs = Array.isArray(reply) ? reply : Object.entries(reply ?? {}).flat();
    if (pairs.length >= 2) settings.set(name, textOf(pairs[1]) ?? "");
  }
  return { info, settings: settings.size > 0 ? settings : undefined };
}

async function infoOf(send: Send, signal: AbortSignal): Promise<ServerFacts["info"]> {
  try {
    return linesOf(textOf(await send(["INFO"], signal)) ?? "");
  } catch (error) {
    if (lacksRight(error)) return undefined;
    throw error;
  }
}

/** Returns warnings about settings by which a server may lose leases. */
export function serverWarnings(facts: ServerFacts): readonly string[] {
  const { info, settings } = facts;
  const { policy, isBounded } = memoryOf(facts);
  const eviction = evictionOf(facts);
  const replicas = Number(info?.get("connected_slaves") ?? 0);
  const least = settings?.get("min-replicas-to-write");
  const isCluster = info?.get("cluster_enabled") === "1";
  const warnings: string[] = eviction === undefined ? [] : [eviction];
  if (info === undefined) {
    warnings.push(
      "INFO is not allowed, so it is not known whether the server evicts, what it saves and whether it has replicas; and no lease gets an age by the server's clock. Add +info to the account's rights.",
    );
  }
  if (!isBounded && policy.startsWith("allkeys-")) {
    warnings.push(
      `maxmemory-policy is ${policy}: once maxmemory is set, the server may evict a lease. Set maxmemory-policy to noeviction.`,
    );
  }
  if (isBounded && policy.startsWith("volatile-")) {
    warnings.push(
      `maxmemory-policy is ${policy}: the server may evict an occurrence before its retention has passed, and the job is then done twice. Set maxmemory-policy to noeviction.`,
    );
  }
  if (info?.get("aof_enabled") === "0") {
    warnings.push(
      "appendonly is no: a server that restarts has lost the leases since its last snapshot. Set appendonly to yes, and appendfsync to always.",
    );
  } else if (settings !== undefined && settings.get("appendfsync") !== "always") {
    warnings.push(
      `appendfsync is ${settings.get("appendfsync") ?? "unknown"}: a server that loses power has lost the leases of about the last second. Set appendfsync to always.`,
    );
  }
  if (replicas > 0 || isCluster) warnings.push(FAILOVER);
  if (replicas > 0 && least === "0") {
    warnings.push(
      "min-replicas-to-write is 0: a server that was cut off from its replicas goes on granting leases after another one was promoted. Set it to 1, and min-replicas-max-lag to less than a lease.",
    );
  }
  if (settings === undefined) {
    warnings.push("CONFIG GET is not allowed, so appendfsync and min-replicas-to-write are not known. Look at them by hand.");
  }
  return warnings;
}

/** @throws {StoreError} `STORE_REJECTED` where the server may evict a lease at any time. */
export function refuseEviction(facts: ServerFacts): void {
  const eviction = evictionOf(facts);
  if (eviction === undefined) return;
  throw new StoreError("STORE_REJECTED", `${STORE_NAME}: ${eviction}`, {
    store: STORE_NAME,
    operation: "check",
    election: undefined,
    mayHaveBeenApplied: false,
  });
}

/** Returns a warning if the server may evict a lease at any time; `undefined` if it may not. */
function evictionOf(facts: ServerFacts): string | undefined {
  const { policy, isBounded } = memoryOf(facts);
  if (!isBounded || !policy.startsWith("allkeys-")) return undefined;
  return `maxmemory-policy is ${policy}, so that the server may evict a lease while it is held. Set maxmemory-policy to noeviction, or use another server for leases.`;
}

function memoryOf({ info, settings }: ServerFacts): { readonly policy: string; readonly isBounded: boolean } {
  return {
    policy: settings?.get("maxmemory-policy") ?? info?.get("maxmemory_policy") ?? "",
    isBounded: Number(info?.get("maxmemory") ?? 0) > 0,
  };
}

function linesOf(info: string): ReadonlyMap<string, string> {
  const pairs = info.split(/\r?\n/).map((line) => line.split(":", 2));
  return new Map(pairs.flatMap(([name, value]) => (name !== undefined && value !== undefined ? [[name, value]] : [])));
}
