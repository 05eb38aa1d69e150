import { randomUUID } from "node:crypto";
import { DynamoDBClient, GetItemCommand, PutItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { DynamoDBLeaseStore, type DynamoDBLeaseStoreOptions } from "@leasehold/dynamodb";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { makeTable } from "@leasehold/test-kit/conformance/dynamodb-place";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import type { FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import type { ProxiedRequest } from "@leasehold/test-kit/faults/request-log";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { Witness } from "@leasehold/test-kit/witness";

/** No error may show these. */
export const SECRET_KEY = "the-secret-access-key";
export const SESSION_TOKEN = "the-session-token";

/** Returns a client of the DynamoDB at `endpoint`, with the retries of a user's client. */
export function clientOf(endpoint: string, options: ConstructorParameters<typeof DynamoDBClient>[0] = {}): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    region: "eu-central-1",
    credentials: { accessKeyId: "any", secretAccessKey: SECRET_KEY, sessionToken: SESSION_TOKEN },
    maxAttempts: 5,
    ...options,
  });
}

/** Returns the input of a request. */
export function inputOf(request: ProxiedRequest): Record<string, unknown> {
  return JSON.parse(request.body.toString()) as Record<string, unknown>;
}

/** One table, a network to it that can fail, and a clock that moves only at the test's command. */
export class TableWorld {
  readonly clock = new MovableClock();
  readonly witness = new Witness();
  readonly proxy: FaultProxy;
  readonly tableName = `leases-${randomUUID()}`;
  /** A client without the proxy, for arrangements and checks. */
  readonly direct: DynamoDBClient;
  /** A client as candidates have it. */
  readonly client: DynamoDBClient;

  constructor(endpoint: string, proxy: FaultProxy) {
    this.proxy = proxy;
    this.direct = clientOf(endpoint);
    this.client = clientOf(proxy.url);
  }

  async start(): Promise<void> {
    await makeTable(this.direct, this.tableName);
  }

  /** Returns the store of one more process. */
  store(options: Partial<DynamoDBLeaseStoreOptions> = {}): DynamoDBLeaseStore {
    return new DynamoDBLeaseStore({ client: this.client, tableName: this.tableName, clock: this.clock, ...options });
  }

  /** Returns the unchanged item of an election's lease, or of another entry. */
  async item(election = ELECTION, entry = "lease"): Promise<Record<string, AttributeValue> | undefined> {
    const Key = { election: { S: election }, entry: { S: entry } };
    const { Item } = await this.direct.send(new GetItemCommand({ TableName: this.tableName, Key, ConsistentRead: true }));
    return Item;
  }

  /** Writes an item unconditionally. */
  async putItem(item: Record<string, AttributeValue>): Promise<void> {
    const Item = { election: { S: ELECTION }, entry: { S: "lease" }, ...item };
    await this.direct.send(new PutItemCommand({ TableName: this.tableName, Item }));
  }

  /** Returns the requests that arrive at the proxy during `act`, except those in the background. */
  async requestsDuring(act: () => Promise<unknown>): Promise<readonly ProxiedRequest[]> {
    const before = this.proxy.requests.length;
    await act();
    return this.proxy.requests.slice(before).filter((request) => !isQuestion(request));
  }

  /** The number of questions about the table so far. */
  get questions(): number {
    return this.proxy.requests.filter(isQuestion).length;
  }

  /** Returns the names of these requests. */
  async namesDuring(act: () => Promise<unknown>): Promise<string[]> {
    return (await this.requestsDuring(act)).map(({ name }) => name);
  }

  /** Ends everything, and checks that no secret was shown. */
  dispose(): void {
    this.clock.stop();
    this.witness[Symbol.dispose]();
    this.witness.keep(SECRET_KEY, SESSION_TOKEN);
    for (const request of this.proxy.requests) this.witness.keep(...secretsOf(request));
    this.proxy.rule = undefined;
    this.proxy.partition(false);
    this.proxy.clear();
    this.client.destroy();
    this.direct.destroy();
    this.witness.expectDiscreet();
  }
}

function isQuestion({ name }: ProxiedRequest): boolean {
  return name === "DescribeTable";
}

/** An answer by DynamoDB itself. */
export function answer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Fault {
  return {
    kind: "answer",
    status,
    headers: { "Content-Type": "application/x-amz-json-1.0", "x-amzn-requestid": "REQUESTID", ...headers },
    body: JSON.stringify(body),
  };
}

/** A refusal by DynamoDB itself. */
export function refusal(status: number, code: string, headers?: Readonly<Record<string, string>>): Fault {
  return answer(
    status,
    { __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: `What the service says of ${code}` },
    headers,
  );
}

/** Returns a request's signature, and its random values, which prove ownership. */
function secretsOf(request: ProxiedRequest): string[] {
  const signature = /Signature=(\w+)/.exec(String(request.headers.authorization))?.[1];
  const values = (inputOf(request)["ExpressionAttributeValues"] ?? {}) as Record<string, AttributeValue>;
  const proofs = [":nonce", ":termId", ":version", ":ifVersion"].map((name) => values[name]?.S);
  return [signature, ...proofs].filter((secret) => secret !== undefined);
}
