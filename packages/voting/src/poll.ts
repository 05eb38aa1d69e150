import { type Clock, type Timer, sendRequest } from "@leasehold/core/provider";
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
 * - `no`: so many have said no that no majority can say yes any more.
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

/** `sendRequest` publishes a request to another server. A request to the own server is not published. */
async function ask(
  server: Electorate,
  to: string,
  { request, timeoutMs, isOver }: Pick<PollOptions<VoterReply>, "request" | "timeoutMs" | "isOver">,
): Promise<VoterReply> {
  if (to === server.name) return await server.ask(to, request, timeoutMs);
  const { clock } = server;
  const { kind: operation, election } = request;
  const options = {
    clock,
    store: "voting",
    election,
    operation,
    timeoutMs,
    writes: operation !== "READ" && operation !== "TELL",
  };
  return await sendRequest(options, () => server.ask(to, request, timeoutMs, isOver));
}

/**
 * Asks every server to keep something on its disk. The own server keeps it before any other server hears of it. After a yes, the
 * write counters of the other servers are persisted. By its counter, a server that is given an older file is recognised later.
 */
export async function pollToKeep<A extends VoterReply>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs } = options;
  const { clock, everyone, name } = server;
  const { kind: operation, election } = request;
  // The disk of the own server may hang, like a network.
  const within = <T>(act: () => Promise<T>): Promise<T> =>
    sendRequest({ clock, store: "voting", election, operation, timeoutMs, writes: true }, act);
  if (everyone.includes(name)) await within(() => server.ask(name, request, timeoutMs));
  const result = await poll(server, options);
  if (result.outcome === "yes") await within(() => server.remember());
  return result;
}

/** Asks every server, and resolves as soon as the result is decided. Each server counts once, by its name. */
export async function poll<A extends VoterReply>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { timeoutMs, graceMs = timeoutMs, signal, isAnswer, isYes, onAnswer } = options;
  signal?.throwIfAborted();
  const answers = new Map<string, A>();
  const failures: unknown[] = [];
  const sentMs = server.clock.monotonicMs();
  const { everyone, majority } = server;
  return await new Promise((resolve, reject) => {
    let grace: Timer | undefined;
    const callOff = (): void => {
      timer.cancel();
      grace?.cancel();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", callOff, { once: true });
    const end = (outcome: PollResult<A>["outcome"]): void => {
      timer.cancel();
      grace?.cancel();
      signal?.removeEventListener("abort", callOff);
      // Answers that arrive later are not part of the result.
      resolve({ outcome, answers: new Map(answers), failures: [...failures] });
    };
    // The disk and the timers of the own server may hang as well.
    const timer = server.clock.setTimer(() => end("open"), timeoutMs);
    const decide = (): void => {
      const yes = [...answers.values()].filter(isYes).length;
      const no = answers.size - yes;
      if (yes >= majority) end("yes");
      else if (everyone.length - no < majority) end("no");
      else if (answers.size + failures.length === everyone.length) end("open");
      else if (answers.size >= majority)
        grace ??= server.clock.setTimer(() => end("open"), sentMs + graceMs - server.clock.monotonicMs());
    };
    for (const name of everyone) {
      ask(server, name, options).then(
        (answer) => {
          if (!isAnswer(answer)) failures.push(new Error(`${name} does not take part yet.`));
          else {
            answers.set(name, answer);
            onAnswer?.(name, answer);
          }
          decide();
        },
        (error: unknown) => {
          failures.push(error);
          decide();
        },
      );
    }
  });
}
