import { DynamoDBClient, GetItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { carry, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import type { Clock } from "@leasehold/core/provider";
import { DynamoDBLeaseStore, type DynamoDBFence } from "@leasehold/dynamodb";

export const TABLE = "leases";

type Item = Record<string, AttributeValue>;

interface Key {
  readonly election: { readonly S: string };
  readonly entry: { readonly S: string };
}

/** The parts of the requests that a lease store sends. */
interface Request {
  readonly Key: Key;
  readonly ConsistentRead?: boolean;
  readonly ConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly Limit?: number;
  readonly ExclusiveStartKey?: Key;
  readonly UpdateExpression?: string;
  readonly ReturnValues?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
}

type Check = NonNullable<DynamoDBFence["ConditionCheck"]>;

/** A request, as the SDK passes it to a handler. */
interface HttpRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

/** The connection of one process to the service. */
export interface Line {
  readonly network: Network;
  /** The difference between the clock of the answering machine and that of the service. */
  readonly hostOffsetMs: () => number;
}

/**
 * A DynamoDB on a virtual clock, with one table. Its items are read and conditionally updated, by the expressions of the
 * requests. Its replies have the service's own time. Hours pass in no time, for any number of processes.
 */
export class SimulatedService {
  readonly #world: VirtualClock;
  readonly #items = new Map<string, Item>();
  #offsetMs: number;
  #replies = 0;
  /** The number of requests of each kind that it has carried out. */
  readonly served = { reads: 0, consistentReads: 0, writes: 0, descriptions: 0 };
  /** The control plane's answer about the table, or an error. */
  control: Reply = { status: 200, body: { Table: { TableName: TABLE, TableStatus: "ACTIVE" } } };
  /** For each nonce, the true time at which the accepted write that set it was sent. */
  readonly sentMs = new Map<string, number>();
  /** Each item before its last write; an eventually consistent read may return it. */
  readonly #past = new Map<string, Item | undefined>();
  /** The true time until which a transaction has each item. */
  readonly #takenUntilMs = new Map<string, number>();
  /** Called after each accepted update. */
  onUpdated: ((before: Item | undefined, item: Item) => void) | undefined;

  constructor(world: VirtualClock, offsetMs = 0) {
    this.#world = world;
    this.#offsetMs = offsetMs;
  }

  /** Returns the service's own time. */
  nowMs(): number {
    return Date.UTC(2026, 0, 1) + this.#world.monotonicMs() + this.#offsetMs;
  }

  /** Sets the service's clock forward, or back. */
  step(ms: number): void {
    this.#offsetMs += ms;
  }

  item(election: string, entry = "lease"): Item | undefined {
    return this.#items.get(addressOf(keyOf(election, entry)));
  }

  setItem(election: string, item: Item): void {
    this.#items.set(addressOf(keyOf(election, "lease")), item);
  }

  deleteItem(election: string): void {
    this.#items.delete(addressOf(keyOf(election, "lease")));
  }

  /** Deletes the items that have expired, as the TTL on `expiresAt` does. */
  expire(): void {
    for (const [address, { expiresAt }] of this.#items) {
      if (expiresAt && Number(expiresAt.N) * 1_000 < this.nowMs()) this.#items.delete(address);
    }
  }

  /** Returns the store of one more process. */
  store(clock: ProcessClock, line: Line): DynamoDBLeaseStore {
    const client = clientOn((request) => this.#handle(request, clock, line));
    return new DynamoDBLeaseStore({ client, tableName: TABLE, clock });
  }

  /** Returns the store of one more process, whose requests and replies take no time. `through` carries each request. */
  promptStore(clock: Clock, through: <T>(deliver: () => T) => Promise<T> = async (deliver) => deliver()): DynamoDBLeaseStore {
    const client = clientOn((request) => through(() => this.#respond(request, this.#world.monotonicMs(), false, 0)));
    return new DynamoDBLeaseStore({ client, tableName: TABLE, clock });
  }

  /** Reports whether a transaction with this check would pass now. */
  admits(check: Check): boolean {
    const request = requestOf(check);
    return holds(request, this.#items.get(addressOf(request.Key)));
  }

  /**
   * Starts a transaction that checks this item, and has the item for this time. Meanwhile no other request has it, not even for a
   * check: https://www.usenix.org/conference/atc23/presentation/idziorek (Listing 2, `ongoingTransactions`).
   */
  transact(check: Check, forMs: number): "None" | "TransactionConflict" | "ConditionalCheckFailed" {
    const address = addressOf(requestOf(check).Key);
    if (this.#isTaken(address)) return "TransactionConflict";
    if (!this.admits(check)) return "ConditionalCheckFailed";
    this.#takenUntilMs.set(address, this.#world.monotonicMs() + forMs);
    return "None";
  }

  /** Reads the items of one page, and returns those that pass the filter. */
  #scan(request: Request): Reply {
    const all = [...this.#items];
    const { ExclusiveStartKey: after, Limit: most = all.length } = request;
    const from = after ? all.findIndex(([address]) => address === addressOf(after)) + 1 : 0;
    const page = all.slice(from, from + most).map(([, item]) => item);
    const last = from + most < all.length ? page.at(-1) : undefined;
    const Items = page.filter((item) => holds({ ...request, ConditionExpression: request.FilterExpression ?? "" }, item));
    const LastEvaluatedKey = last && { election: last["election"], entry: last["entry"] };
    return { status: 200, body: { Items, ...(last ? { LastEvaluatedKey } : {}) } };
  }

  #isTaken(address: string): boolean {
    return (this.#takenUntilMs.get(address) ?? -Infinity) > this.#world.monotonicMs();
  }

  async #handle(request: HttpRequest, process: ProcessClock, { network, hostOffsetMs }: Line): Promise<object> {
    const sentMs = this.#world.monotonicMs();
    const passage = network({ operation: operationOf(request) });
    return await carry(this.#world, process, passage, () =>
      this.#respond(request, sentMs, passage.lags ?? false, hostOffsetMs()),
    );
  }

  #respond(request: HttpRequest, sentMs: number, lags: boolean, hostOffsetMs: number): object {
    const { status, body } = this.#answer(operationOf(request), request, sentMs, lags);
    const date = new Date(this.nowMs() + hostOffsetMs).toUTCString();
    const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": `R${(this.#replies += 1)}`, date };
    return { response: { statusCode: status, headers, body: new TextEncoder().encode(JSON.stringify(body)) } };
  }

  #answer(operation: string, { body }: HttpRequest, sentMs: number, lags: boolean): Reply {
    const request = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body)) as Request;
    if (operation === "DescribeTable") {
      this.served.descriptions += 1;
      return this.control;
    }
    if (operation === "Scan") return this.#scan(request);
    const address = addressOf(request.Key);
    const past = lags && operation === "GetItem" && !request.ConsistentRead && this.#past.has(address);
    const item = (past ? this.#past : this.#items).get(address);
    if (operation === "GetItem") this.served[request.ConsistentRead ? "consistentReads" : "reads"] += 1;
    else this.served.writes += 1;
    if (operation === "GetItem") return { status: 200, body: item ? { Item: item } : {} };
    if (operation !== "UpdateItem") throw new Error(`${operation} is not simulated.`);
    if (this.#isTaken(address)) {
      const __type = "com.amazonaws.dynamodb.v20120810#TransactionConflictException";
      return { status: 400, body: { __type, message: "Transaction is ongoing for the item" } };
    }
    if (!holds(request, item)) {
      const __type = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
      return { status: 400, body: { __type, message: "The conditional request failed", ...(item ? { Item: item } : {}) } };
    }
    const updated = update(request, item ?? { ...request.Key });
    this.#past.set(address, item);
    this.#items.set(address, updated);
    const nonce = updated["nonce"]?.S ?? "";
    if (nonce !== item?.["nonce"]?.S) this.sentMs.set(nonce, sentMs);
    this.onUpdated?.(item, updated);
    return { status: 200, body: item && request.ReturnValues === "ALL_OLD" ? { Attributes: item } : {} };
  }
}

function operationOf({ headers }: HttpRequest): string {
  return headers["x-amz-target"]?.replace(/^DynamoDB_20120810\./, "") ?? "";
}

function requestOf({ Key, ConditionExpression = "", ExpressionAttributeNames = {}, ExpressionAttributeValues }: Check): Request {
  const key = marshall(Key) as unknown as Key;
  const values = marshall(ExpressionAttributeValues ?? {}) as Item;
  return { Key: key, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues: values };
}

function keyOf(election: string, entry: string): Key {
  return { election: { S: election }, entry: { S: entry } };
}

function addressOf({ election, entry }: Key): string {
  return JSON.stringify([election.S, entry.S]);
}

/** Lets the SDK read its configuration files, which it does once in a process and in real time. */
export async function warmUp(): Promise<void> {
  const headers = { "x-amzn-requestid": "R", "content-type": "application/x-amz-json-1.0" };
  const response = { statusCode: 200, headers, body: new TextEncoder().encode("{}") };
  const client = clientOn(() => Promise.resolve({ response }));
  await client.send(new GetItemCommand({ TableName: TABLE, Key: { ...keyOf("warm-up", "lease") } }));
}

function clientOn(handle: (request: HttpRequest) => Promise<object>): DynamoDBClient {
  return new DynamoDBClient({
    region: "eu-central-1",
    endpoint: "http://service.invalid",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    // The signatures are not checked, and would take a third of the time.
    signer: { sign: (request: object) => Promise.resolve(request) } as never,
    requestHandler: { handle } as object,
  });
}

/**
 * Reports whether an item meets the condition. It consists of `attribute_not_exists(#a)`, `attribute_type(#a, :t)`, and
 * comparisons of an attribute with a value, joined by AND and OR.
 */
function holds(request: Request, item: Item | undefined): boolean {
  const meets = (condition: string): boolean => {
    const choices = partsOf(condition, " OR ");
    if (choices.length > 1) return choices.some(meets);
    const demands = partsOf(condition, " AND ");
    if (demands.length > 1) return demands.every(meets);
    return condition.startsWith("(") ? meets(condition.slice(1, -1)) : meetsOne(condition, request, item);
  };
  return meets(request.ConditionExpression ?? "");
}

/** Returns the parts of a condition between these words, outside of brackets. */
function partsOf(condition: string, word: " AND " | " OR "): string[] {
  const parts: string[] = [];
  for (const piece of condition.split(word)) {
    const last = parts.at(-1);
    const isOpen = last !== undefined && last.split("(").length > last.split(")").length;
    if (isOpen) parts[parts.length - 1] = last + word + piece;
    else parts.push(piece);
  }
  return parts;
}

function meetsOne(condition: string, request: Request, item: Item | undefined): boolean {
  const valueOf = (placeholder: string): AttributeValue => {
    const value = request.ExpressionAttributeValues?.[placeholder];
    if (!value) throw new Error(`No value is given for ${placeholder}.`);
    return value;
  };
  const absent = /^attribute_not_exists\((#\w+)\)$/.exec(condition);
  if (absent) return item?.[nameOf(absent[1]!, request)] === undefined;
  const typed = /^attribute_type\((#\w+), (:\w+)\)$/.exec(condition);
  if (typed) return Object.hasOwn(item?.[nameOf(typed[1]!, request)] ?? {}, valueOf(typed[2]!).S!);
  const begins = /^begins_with\((#\w+), (:\w+)\)$/.exec(condition);
  if (begins) return item?.[nameOf(begins[1]!, request)]?.S?.startsWith(valueOf(begins[2]!).S!) === true;
  const compared = /^(#\w+)(?:\.(#\w+))? (=|<|>|>=) (:\w+)$/.exec(condition);
  if (!compared) throw new Error(`This condition is not simulated: ${condition}`);
  const [, name, part, operator, placeholder] = compared;
  const whole = item?.[nameOf(name!, request)];
  const found = part ? whole?.M?.[nameOf(part, request)] : whole;
  const value = valueOf(placeholder!);
  if (operator === "=") return JSON.stringify(found) === JSON.stringify(value);
  const difference = Number(found?.N) - Number(value.N);
  return operator === "<" ? difference < 0 : operator === ">" ? difference > 0 : difference >= 0;
}

/** Returns the item after `SET #a = :b, … REMOVE #c, …`; a value may also be `if_not_exists(#a, :b)`, or that `+ :c`. */
function update(request: Request, item: Item): Item {
  const expression = /^SET (.+?)(?: REMOVE (.+))?$/.exec(request.UpdateExpression ?? "");
  if (!expression) throw new Error(`This update is not simulated: ${request.UpdateExpression}`);
  const updated = { ...item };
  const values = request.ExpressionAttributeValues!;
  for (const [, name = "", value = ""] of expression[1]!.matchAll(/(#\w+) = (if_not_exists\(.+?\)(?: \+ :\w+)?|:\w+)/g)) {
    const [, before, fallback = value, addend] = /^if_not_exists\((#\w+), (:\w+)\)(?: \+ (:\w+))?$/.exec(value) ?? [];
    const base = (before === undefined ? undefined : item[nameOf(before, request)]) ?? values[fallback]!;
    const isSum = addend !== undefined;
    updated[nameOf(name, request)] = isSum ? { N: String(Number(base.N) + Number(values[addend]?.N)) } : base;
  }
  for (const name of expression[2]?.split(", ") ?? []) delete updated[nameOf(name, request)];
  return updated;
}

function nameOf(placeholder: string, { ExpressionAttributeNames }: Pick<Request, "ExpressionAttributeNames">): string {
  const name = ExpressionAttributeNames?.[placeholder];
  if (name === undefined) throw new Error(`No name is given for ${placeholder}.`);
  return name;
}
