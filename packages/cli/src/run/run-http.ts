import { systemClock } from "@leasehold/core/provider";
import type { Elector } from "@leasehold/core";
import { ServedElector } from "../serve/candidate.ts";
import { Figures } from "../serve/figures.ts";
import { parseHttpAddress } from "../http/http-address.ts";
import { startHttp } from "../serve/http-server.ts";
import { pageFiles } from "../serve/page.ts";

/** Starts the HTTP server of `serve` for `run`: for its elector, or a fleet's metrics. It refuses changes: CMD has an API of its own. */
export async function serveElector(
  elector: Elector | undefined,
  { address, stopped }: { readonly address: string; readonly stopped: AbortSignal },
): Promise<AsyncDisposable> {
  const figures = new Figures();
  const candidates = elector ? [new ServedElector(elector, systemClock)] : [];
  const served = {
    candidates,
    figures,
    page: pageFiles(),
    isStopping: () => stopped.aborted,
    checkpoint: () => {},
  };
  const where = parseHttpAddress(address);
  const server = await startHttp({ address: where, served, rules: { hosts: [], token: undefined }, clock: systemClock });
  return {
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      for (const candidate of candidates) candidate[Symbol.dispose]();
      figures[Symbol.dispose]();
    },
  };
}
