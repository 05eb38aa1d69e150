import { setTimeout as delay } from "node:timers/promises";
import type { StoreService } from "@leasehold/test-kit/stores/test-store";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { isRunning, type Crew, type Post } from "./processes.ts";
import type { Injected } from "./episode-log.ts";
import { SEVERED, type FaultKind, type LinkFault, type MemberFault, type ProcessFault, type StoreFault } from "./faults.ts";
import type { PlannedFault, PlannedRound } from "./plan.ts";

/** Applies the faults of a plan to the workers and their store, and records them. */
export class Injector {
  readonly injected: Injected[] = [];
  readonly #crew: Crew;
  readonly #service: StoreService;
  readonly #leaseMs: number;

  constructor(crew: Crew, service: StoreService, leaseMs: number) {
    this.#crew = crew;
    this.#service = service;
    this.#leaseMs = leaseMs;
  }

  /** Applies the faults of a round. Resolves when all are over, and every worker has a process again. */
  async carryOut({ process, network, member }: PlannedRound): Promise<void> {
    await Promise.all([
      process && this.#afterAWhile(process, async (post) => this.#harm(process, post)),
      network && this.#afterAWhile(network, async (post) => this.#disconnect(network, post)),
      member && this.#disturb(member),
    ]);
    // All links must be whole, because a process first reads the store. Workers whose tasks have failed get a process again too.
    await this.#crew.fill();
  }

  async #afterAWhile({ after, target }: PlannedFault, act: (post: Post) => Promise<void>): Promise<void> {
    await delay(after * this.#leaseMs);
    const candidates = this.#crew.posts.filter(({ isSevered }) => !isSevered);
    const leader = target === "leader" ? this.#crew.leader : undefined;
    const fallback = candidates[typeof target === "number" ? target % candidates.length : 0]!;
    await act(leader && !leader.isSevered ? leader : fallback);
  }

  async #harm({ kind, lasts, renames }: PlannedFault<ProcessFault>, post: Post): Promise<void> {
    const { process } = post;
    // Its task has failed, so the process has ended already.
    if (!process || !isRunning(post)) return;
    const ms = lasts * this.#leaseMs;
    const worker = this.#crew.workerOf(post);
    await this.#note(kind, worker, async (begun) => {
      switch (kind) {
        case "kill":
          process.signal("SIGKILL");
          begun();
          await process.said("exited");
          break;
        case "freeze":
        case "freeze-and-kill":
          await process.freeze();
          begun();
          await delay(ms);
          if (kind === "freeze") process.thaw();
          else await process.end();
          break;
        case "block":
          process.obey({ kind: "block", ms });
          await ended(process, delay(ms));
          break;
        case "restart":
          process.signal("SIGTERM");
          // Kills after a time, as an orchestrator does.
          await ended(process, delay(this.#leaseMs + ms));
          await process.end();
          break;
        case "resign":
          process.obey({ kind: "resign" });
      }
    });
    if (renames && !isRunning(post)) post.candidateId = `${post.name}-${post.processes + 1}`;
  }

  async #disconnect(
    { kind, lasts, delay: slowness }: PlannedFault<LinkFault | StoreFault | typeof SEVERED>,
    post: Post,
  ): Promise<void> {
    const wait = async (): Promise<void> => delay(lasts * this.#leaseMs);
    switch (kind) {
      case SEVERED:
        post.isSevered = true;
        post.link.sever();
        this.injected.push({ kind, worker: this.#crew.workerOf(post), fromMs: hostMs(), toMs: undefined });
        return wait();
      case "store-frozen":
        return this.#note(kind, undefined, async (begun) => {
          await this.#service.pause();
          begun();
          await wait();
          this.#service.resume();
        });
      case "store-unreachable": {
        const posts = this.#crew.posts;
        return this.#note(kind, undefined, async () => {
          for (const { link } of posts) link.impose("stop", 0);
          await wait();
          for (const { link } of posts) link.heal();
        });
      }
      default:
        return this.#note(kind, this.#crew.workerOf(post), async () => {
          post.link.impose(kind, slowness * this.#leaseMs);
          await wait();
          post.link.heal();
        });
    }
  }

  /** Applies a fault to one of the stores that hold the leases together. */
  async #disturb({ kind, after, target, lasts }: PlannedFault<MemberFault>): Promise<void> {
    const { members = [] } = this.#service;
    const member = members[Number(target) % members.length]!;
    await delay(after * this.#leaseMs);
    const wait = async (): Promise<void> => delay(lasts * this.#leaseMs);
    await this.#note(kind, member.name, async (begun) => {
      switch (kind) {
        case "member-frozen":
          await member.pause();
          begun();
          await wait();
          member.resume();
          break;
        case "member-unreachable":
          if (member.proxy) member.proxy.cut();
          else await member.pause();
          begun();
          await wait();
          if (member.proxy) member.proxy.heal();
          else member.resume();
          break;
        case "member-killed":
          await member.kill();
          begun();
          await wait();
          await member.start();
          break;
        case "member-wiped":
          await member.wipe();
      }
    });
  }

  /** Records the time of a fault. It begins at the call of `begun`, or at the start of `act`. */
  async #note(kind: FaultKind, worker: string | undefined, act: (begun: () => void) => Promise<void>): Promise<void> {
    let fromMs = hostMs();
    await act(() => (fromMs = hostMs()));
    this.injected.push({ kind, worker, fromMs, toMs: hostMs() });
  }
}

/** Resolves when the process has ended, or the time is up. */
async function ended(process: CandidateProcess, timeUp: Promise<void>): Promise<void> {
  await Promise.race([process.said("exited", { withinMs: 2 ** 31 - 1 }).catch(() => undefined), timeUp]);
}
