import { systemClock } from "@leasehold/core/provider";
import type { Elector } from "@leasehold/core";
import { ServedElector } from "../serve/candidate.ts";
import { parseHttpAddress } from "../http/http-address.ts";
import { startHttp } from "../serve/http-server.ts";

/** Starts the HTTP server of `serve` for `run`: for its elector, or a fleet's metrics. It refuses changes: CMD has an API of its own. */
export async function serveElector(
  elector: Elector | undefined,
  { address, stopped }: { readonly address: string; readonly stopped: AbortSignal },
): Promise<AsyncDisposable> {
  const candidates = elector ? [new ServedElector(elector, systemClock)] : [];
  const served = { candidates, isStopping: () => stopped.aborted, checkpoint: () => {} };
  const rules = { hosts: [], token: undefined };
  return await startHttp({ address: parseHttpAddress(address), served, rules, clock: systemClock });
}
