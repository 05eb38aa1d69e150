import { NOTHING, type MemberState } from "./member-state.ts";
import type { Member, MemberLimits } from "./member.ts";
import type { MembershipRules } from "./roster.ts";

/** The names that one member lists. It sends a request each time that {@link next} is called. */
export class MemberList {
  readonly names: string[] = [];
  /** A state without a record, which shows whether the member counts. Set once the member has listed all names. */
  state: MemberState | undefined;
  failure: { readonly cause: unknown } | undefined;
  readonly #end = new AbortController();
  #turn = Promise.withResolvers<number>();
  #page = Promise.withResolvers<void>();
  #hasBegun = false;

  constructor(member: Member, rules: Pick<MembershipRules, "meet">, prefix: string, pageSize: number) {
    void this.#list(member, rules, prefix, pageSize).then(
      () => this.#page.resolve(),
      (cause: unknown) => {
        this.failure = { cause };
        this.#page.promise.catch(() => undefined);
        this.#page.reject(cause);
      },
    );
  }

  get isOver(): boolean {
    return this.failure !== undefined || this.state !== undefined;
  }

  /**
   * Lets the member send its next request, and waits for that page. A request that is already under way is awaited instead,
   * within its own time limit.
   */
  async next(timeoutMs: number): Promise<void> {
    this.#turn.resolve(timeoutMs);
    await this.#page.promise;
  }

  /** Ends the list, and aborts its request that is under way. */
  end(): void {
    const over = new Error("The list has ended.");
    this.#end.abort(over);
    this.#turn.promise.catch(() => undefined);
    this.#turn.reject(over);
  }

  async #list(member: Member, rules: Pick<MembershipRules, "meet">, prefix: string, pageSize: number): Promise<void> {
    for await (const name of member.names(prefix, pageSize, () => this.#awaitTurn())) this.names.push(name);
    // If the store was emptied meanwhile, it has lost its marker. So the marker is checked after the list.
    this.state = await rules.meet(member.name, Promise.resolve(NOTHING), await this.#limits());
  }

  async #awaitTurn(): Promise<MemberLimits> {
    if (this.#hasBegun) {
      this.#page.resolve();
      this.#page = Promise.withResolvers();
      this.#turn = Promise.withResolvers();
    }
    this.#hasBegun = true;
    return await this.#limits();
  }

  async #limits(): Promise<MemberLimits> {
    return { timeoutMs: await this.#turn.promise, signal: this.#end.signal };
  }
}
