import { isLeaseholdError, StoreError, type LeaseholdError } from "@leasehold/core";
import { asSentence, onAbort, type Clock, type Timer, type RequestOptions, sendRequest } from "@leasehold/core/provider";
import { summarizeError } from "@leasehold/core/diagnostics";
import { NAME } from "./capabilities.ts";
import type { VoterReply, ElectionRequest, Request, StateRequest } from "./messages.ts";

/** All servers, for a server or an observer that asks them. */
export interface Electorate {
  /** The name of the server that asks; `OBSERVER` if the process is not a server. */
  readonly name: string;
  readonly everyone: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  /**
   * Asks one server, which may be this one. Rejects if no answer comes in time. If the server was started again meanwhile, the
   * request is sent again, unless `isOver` returns true by then.
   */
  ask(to: string, request: Request, timeoutMs: number, isOver?: () => boolean): Promise<VoterReply>;
  /** Persists the highest write counter heard from each server. Does nothing without a disk. */
  remember(): Promise<void>;
}

/** One request to every server, and how the answers count. */
export interface PollOptions<A extends VoterReply> {
  readonly request: ElectionRequest | (StateRequest & { readonly election: string });
  readonly timeoutMs: number;
  /** Milliseconds from the send. After them, the poll ends undecided once a majority has answered. @defaultValue `timeoutMs` */
  readonly graceMs?: number | undefined;
  /** Returns true once the request must not be sent again to a server that was started again. */
  readonly isOver?: (() => boolean) | undefined;
  /** The poll rejects when this signal aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Reports whether an answer counts. Any other answer counts as a failure. */
  readonly isAnswer: (answer: VoterReply) => answer is A;
  readonly isYes: (answer: A) => boolean;
  /** Called at once for each answer that counts, also after the poll has ended. */
  readonly onAnswer?: ((server: string, answer: A) => void) | undefined;
}

/**
 * - `yes`: a majority has said yes.
 * - `no`: a majority of yes is impossible by now, because too many servers have said no.
 * - `open`: the poll ended undecided. The time was over, or all had answered or failed, or the grace was over and a majority had
 *   answered.
 */
export interface PollResult<A> {
  readonly outcome: "yes" | "no" | "open";
  readonly answers: ReadonlyMap<string, A>;
  /** The reasons of the servers that gave no answer that counts. */
  readonly failures: readonly unknown[];
}

/** Reports whether an answer is of this kind. */
export function isAnswerOf<A extends VoterReply>(kind: A["kind"]): (answer: VoterReply) => answer is A {
  return (answer): answer is A => answer.kind === kind;
}

/** Asks another server, and publishes the request. */
async function askOther(
  server: Electorate,
  to: string,
  { request, timeoutMs, isOver }: Pick<PollOptions<VoterReply>, "request" | "timeoutMs" | "isOver">,
): Promise<VoterReply> {
  const { kind: operation, election } = request;
  const writes = operation !== "READ" && operation !== "TELL";
  return await withinTime(server, { election, operation, timeoutMs, writes }, () => server.ask(to, request, timeoutMs, isOver));
}

/** Waits at most `timeoutMs` for another server, or for the disk of the own one. It may hang, like a network. */
export async function withinTime<T>(
  { clock }: Electorate,
  limits: Pick<RequestOptions, "election" | "operation" | "timeoutMs"> & { readonly writes?: boolean },
  act: () => Promise<T>,
): Promise<T> {
  const { election, operation, timeoutMs, writes = true } = limits;
  return await sendRequest({ clock, store: NAME, election, operation, timeoutMs, writes }, act);
}

/**
 * Asks every server to keep something on its disk. The own server keeps it before any other server hears of it. After a yes, the
 * write counters of the other servers are persisted. By its counter, a server that is given an older file is recognised later.
 */
export async function pollToKeep<A extends VoterReply>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs } = options;
  const { everyone, name } = server;
  const limits = { election: request.election, operation: request.kind, timeoutMs };
  if (everyone.includes(name)) await withinTime(server, limits, () => server.ask(name, request, timeoutMs));
  const result = await poll(server, options);
  if (result.outcome === "yes") await withinTime(server, limits, () => server.remember());
  return result;
}

/** Asks every server, and resolves as soon as the result is decided. Each server counts once, by its name. */
export async function poll<A extends VoterReply>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs, graceMs = timeoutMs, signal, isAnswer, isYes, onAnswer } = options;
  signal?.throwIfAborted();
  const { clock, everyone, majority } = server;
  const answers = new Map<string, A>();
  const failures: unknown[] = [];
  const ended = Promise.withResolvers<PollResult<A>>();
  // Answers that arrive later are not part of the result.
  const end = (outcome: PollResult<A>["outcome"]): void =>
    ended.resolve({ outcome, answers: new Map(answers), failures: [...failures] });
  const stopListening = onAbort(signal, (reason) => ended.reject(reason));
  const sentMs = clock.monotonicMs();
  // The disk and the timers of the own server may hang as well.
  const timers: Timer[] = [clock.setTimer(() => end("open"), timeoutMs)];
  const decide = (): void => {
    const yes = [...answers.values()].filter(isYes).length;
    const no = answers.size - yes;
    if (yes >= majority) end("yes");
    else if (everyone.length - no < majority) end("no");
    else if (answers.size + failures.length === everyone.length) end("open");
    else if (answers.size >= majority) timers[1] ??= clock.setTimer(() => end("open"), sentMs + graceMs - clock.monotonicMs());
  };
  const heard = (name: string, answer: VoterReply): void => {
    if (!isAnswer(answer)) failures.push(new Error(`${name} does not take part yet.`));
    else {
      answers.set(name, answer);
      onAnswer?.(name, answer);
    }
    decide();
  };
  const failed = (error: unknown): void => {
    failures.push(error);
    decide();
  };
  for (const name of everyone) {
    const asked = name === server.name ? server.ask(name, request, timeoutMs) : askOther(server, name, options);
    asked.then((answer) => heard(name, answer), failed);
  }
  try {
    return await ended.promise;
  } finally {
    for (const timer of timers) timer.cancel();
    stopListening();
  }
}

/** The error of a request that no majority has answered. */
export function unanswered(
  election: string,
  operation: string,
  { failures }: Pick<PollResult<VoterReply>, "failures">,
  mayHaveBeenApplied: boolean,
): LeaseholdError {
  // A wrong list of servers is a mistake rather than an outage.
  const misuse = failures.find((error) => isLeaseholdError(error, "CONFIGURATION"));
  if (misuse) return misuse;
  const reasons = failures.map((error) => summarizeError(error).message).join(" ");
  const message = asSentence(`No majority of the servers has answered ${operation} of '${election}' in time. ${reasons}`.trim());
  const details = { store: NAME, operation, election, mayHaveBeenApplied, cause: failures[0] };
  return new StoreError("STORE_UNAVAILABLE", message, details);
}
