import type { Clock, Timer } from "@leasehold/core";
import { sendRequest } from "@leasehold/core/provider";
import type { Answer, ElectionRequest, Request } from "./messages.ts";

/** Who can be asked: every server, by one of them or by somebody else. */
export interface Electorate {
  /** The server that asks; of somebody else none. */
  readonly name: string;
  readonly everyone: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  /** Rejects where there is no answer in time. */
  ask(to: string, request: Request, timeoutMs: number): Promise<Answer>;
  /** Writes down what the others have told of their writes, where it has a disk. */
  remember(): Promise<void>;
}

/** One request to every server, and what they say. */
export interface PollOptions<A extends Answer> {
  readonly request: ElectionRequest;
  readonly timeoutMs: number;
  /** The time, from the send, until the other answers count no more once those of a majority decide nothing. @defaultValue all of the time */
  readonly graceMs?: number | undefined;
  /** The answers are of no use any more after it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Tells an answer that may be counted from silence. */
  readonly isAnswer: (answer: Answer) => answer is A;
  readonly isYes: (answer: A) => boolean;
  /** Called at once for each answer, also for those that come after the poll has been decided. */
  readonly onAnswer?: ((server: string, answer: A) => void) | undefined;
}

/**
 * - `yes`: a majority has said yes.
 * - `no`: so many have said no that no majority can say yes any more.
 * - `open`: neither was so when the time was over, or the grace was and a majority had answered.
 */
export interface PollResult<A> {
  readonly outcome: "yes" | "no" | "open";
  readonly answers: ReadonlyMap<string, A>;
  /** Why those did not answer that did not. */
  readonly failures: readonly unknown[];
}

/** What goes to another server is a request, and published as one. */
async function ask(server: Electorate, to: string, request: PollOptions<Answer>["request"], timeoutMs: number): Promise<Answer> {
  if (to === server.name) return await server.ask(to, request, timeoutMs);
  const { clock } = server;
  const { kind: operation, election } = request;
  const options = { clock, store: "voting", election, operation, timeoutMs, writes: operation !== "READ" };
  return await sendRequest(options, () => server.ask(to, request, timeoutMs));
}

/**
 * Asks every server to keep something. The own one keeps it before anybody else hears of it, and what the others have told of
 * their writes is written down in the end: of each server that counts another one remembers that, if it is given an older file.
 */
export async function pollToKeep<A extends Answer>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs } = options;
  const { clock, everyone, name } = server;
  const { kind: operation, election } = request;
  // Its own disk may hang as well as a network.
  const within = <T>(act: () => Promise<T>): Promise<T> =>
    sendRequest({ clock, store: "voting", election, operation, timeoutMs, writes: true }, act);
  if (everyone.includes(name)) await within(() => server.ask(name, request, timeoutMs));
  const result = await poll(server, options);
  if (result.outcome === "yes") await within(() => server.remember());
  return result;
}

/** Asks every server, and resolves as soon as it is decided. Each server counts once, by its name. */
export async function poll<A extends Answer>(server: Electorate, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs, graceMs = timeoutMs, signal, isAnswer, isYes, onAnswer } = options;
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
      // What comes later is no part of the result.
      resolve({ outcome, answers: new Map(answers), failures: [...failures] });
    };
    // Its own disk and timers may hang as well.
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
      ask(server, name, request, timeoutMs).then(
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
