import { summarizeError } from "@leasehold/core/diagnostics";
import { json, mistake, NO_CONTENT, type HttpReply } from "../http/reply.ts";
import type { ElectionView, ServedElector } from "./candidate.ts";
import type { ElectionWatch } from "./election-watch.ts";
import { METRICS_TYPE, type Figures } from "./figures.ts";
import type { Watches } from "./event-stream.ts";
import type { PageFile } from "./page.ts";

/** The parts of this process that the server reports on. */
export interface Served extends Watches {
  readonly candidates: readonly ServedElector[];
  readonly figures: Figures;
  readonly page: ReadonlyMap<string, PageFile>;
  /** Reports whether this process has begun to stop, and gives its leaderships up. */
  readonly isStopping: () => boolean;
  /** Records that the work of an election goes on. */
  readonly checkpoint: (election: string) => void;
}

/** A request that the access rules allow. */
export interface Question {
  /** GET also stands for HEAD and OPTIONS, which get the same answer without a body. */
  readonly method: "GET" | "POST";
  /** Without the query. */
  readonly path: string;
  readonly wantsHtml: boolean;
}

/** Answers a path of one election. The path is below `/elections/NAME`, or below `/` if there is only one election. */
type About = (candidate: ServedElector, served: Served) => HttpReply | Promise<HttpReply>;

const READ: Readonly<Record<string, About>> = {
  "/leader": (candidate) => json(candidate.leads ? 200 : 503, { leading: candidate.leads }),
};

const CHANGE: Readonly<Record<string, About>> = {
  "/resign": async ({ elector }) => {
    const { term } = elector.health();
    if (term === undefined) return mistake(409, "this candidate does not lead");
    await elector.resign();
    return json(200, { resigned: term });
  },
  "/checkpoint": ({ election, leads }, served) => {
    if (!leads) return mistake(409, "this candidate does not lead");
    served.checkpoint(election);
    return NO_CONTENT;
  },
};

/** Returns the answer to a request. Only `POST /resign`, `/metrics` of fleets, and lists wait for the store. */
export async function answerTo({ method, path, wantsHtml }: Question, served: Served): Promise<HttpReply> {
  const { candidates, page } = served;
  const [only] = candidates;
  if (method === "GET") {
    const file = page.get(path === "/" && wantsHtml ? "/dashboard.html" : path);
    if (file) return { status: 200, ...file };
    const whole = await wholeAnswer(path, served);
    if (whole) return whole;
  }
  const { name, rest } = electionIn(path);
  if (served.listed) {
    if (method === "POST" || name === undefined || rest !== "") {
      return mistake(404, "this process campaigns in no election; name one by --election");
    }
    return await listAnswer(served.listed, (elections) => {
      const view = elections.find(({ election }) => election === name);
      return view ? json(200, view) : mistake(404, "there is no such election in this store");
    });
  }
  const candidate = name === undefined ? only : candidates.find(({ election }) => election === name);
  if (name === undefined && candidates.length > 1) {
    return mistake(404, "there are several elections here: ask below /elections/NAME");
  }
  if (!candidate) return mistake(404, "there is no such election here");
  if (method === "GET" && rest === "" && name !== undefined) return json(200, candidate.view());
  if (method === "GET" && rest === "/" && name === undefined) return leaderName(candidate);
  const about = (method === "GET" ? READ : CHANGE)[rest];
  if (about) return await about(candidate, served);
  const other = method === "GET" ? CHANGE : READ;
  if (other[rest]) return { ...mistake(405, `this takes ${method === "GET" ? "POST" : "GET"}`), allow: allowed(method) };
  return mistake(404, "there is nothing at this path");
}

/** Returns the answer for a path of the whole process. Undefined for a path of one election. */
async function wholeAnswer(
  path: string,
  { candidates, figures, fleets, listed, isStopping }: Served,
): Promise<HttpReply | undefined> {
  const isAlive = candidates.every((candidate) => candidate.isAlive);
  switch (path) {
    case "/livez":
      return json(isAlive ? 200 : 503, { alive: isAlive });
    case "/readyz": {
      const isReady = isAlive && !isStopping();
      return json(isReady ? 200 : 503, { ready: isReady });
    }
    case "/elections":
      if (listed) return await listAnswer(listed, (elections) => json(200, { elections }));
      return json(200, { elections: candidates.map((candidate) => candidate.view()) });
    case "/metrics": {
      const leases = candidates.map(({ election, elector }) => ({ election, leaseDurationMs: elector.timing.leaseDurationMs }));
      return { status: 200, type: METRICS_TYPE, body: figures.text(leases, await fleets?.figures()) };
    }
    default:
      return undefined;
  }
}

/** Answers by the list of the store's elections. Without a list, answers why the store fails. */
async function listAnswer(listed: ElectionWatch, answer: (elections: readonly ElectionView[]) => HttpReply): Promise<HttpReply> {
  return await listed.elections().then(answer, (error: unknown) => mistake(503, summarizeError(error).message));
}

/**
 * Answers as the Kubernetes leader-elector does. Its clients compare the name with their own, so an outdated name is never sent.
 */
function leaderName({ leader }: ServedElector): HttpReply {
  if (leader === undefined) return mistake(503, "who leads is not known here");
  return json(200, { name: leader?.candidateId ?? "" });
}

function electionIn(path: string): { readonly name: string | undefined; readonly rest: string } {
  const [, encoded, rest = ""] = /^\/elections\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (encoded === undefined) return { name: undefined, rest: path };
  try {
    return { name: decodeURIComponent(encoded), rest };
  } catch {
    // The name is not valid percent-encoded text, so no election has it.
    return { name: "", rest };
  }
}

function allowed(method: Question["method"]): string {
  return method === "GET" ? "POST" : "GET, HEAD, OPTIONS";
}
