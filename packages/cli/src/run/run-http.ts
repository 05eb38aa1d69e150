import { systemClock } from "@leasehold/core/provider";
import type { Elector } from "@leasehold/core";
import { ServedElector } from "../serve/candidate.ts";
import { Figures } from "../serve/figures.ts";
import { parseHttpAddress } from "../http/http-address.ts";
import { startHttp } from "../serve/http-server.ts";
import { pageFiles } from "../serve/page.ts";

/** Starts the HTTP server of `serve` for the elector of `run`. It refuses changes, because CMD has an API of its own. */
export async function serveElector(
  elector: Elector,
  { address, stopped }: { readonly address: string; readonly stopped: AbortSignal },
): Promise<AsyncDisposable> {
  const figures = new Figures();
  const candidate = new ServedElector(elector, systemClock);
  const served = {
    candidates: [candidate],
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
      candidate[Symbol.dispose]();
      figures[Symbol.dispose]();
    },
  };
}
