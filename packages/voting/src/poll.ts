import type { Answer, Request } from "./messages.ts";
import type { Server } from "./server.ts";

/** One request to every server, and what they say. */
export interface PollOptions<A extends Answer> {
  readonly request: Request;
  readonly timeoutMs: number;
  /** Tells an answer that may be counted from silence. */
  readonly isAnswer: (answer: Answer) => answer is A;
  readonly isYes: (answer: A) => boolean;
  /** Called at once for each answer, also for those that come after the poll has been decided. */
  readonly onAnswer?: ((server: string, answer: A) => void) | undefined;
}

/**
 * - `yes`: a majority has said yes.
 * - `no`: so many have said no that no majority can say yes any more.
 * - `open`: neither was so when the time was over.
 */
export interface PollResult<A> {
  readonly outcome: "yes" | "no" | "open";
  readonly answers: ReadonlyMap<string, A>;
  /** Why those did not answer that did not. */
  readonly failures: readonly unknown[];
}

/** Asks every server, and resolves as soon as it is decided. Each server counts once, by its name. */
export async function poll<A extends Answer>(server: Server, options: PollOptions<A>): Promise<PollResult<A>> {
  const { request, timeoutMs, isAnswer, isYes, onAnswer } = options;
  const answers = new Map<string, A>();
  const failures: unknown[] = [];
  const { everyone, majority } = server;
  return await new Promise((resolve) => {
    const end = (outcome: PollResult<A>["outcome"]): void => {
      timer.cancel();
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
    };
    for (const name of everyone) {
      server.ask(name, request, timeoutMs).then(
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
