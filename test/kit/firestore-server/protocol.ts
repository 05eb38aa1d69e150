import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";

/**
 * Returns the service google.firestore.v1.Firestore. Its protocol description is the one with which Google's own client is built,
 * so it is always that of the installed client. Requests are decoded to the types of messages.ts.
 */
export function serviceDefinition(): ServiceDefinition {
  // The client does not export its description. The package of generated code on which it depends does.
  const client = createRequire(import.meta.url).resolve("@google-cloud/firestore");
  const file = createRequire(client).resolve("@google-cloud/firestore-api/protos/protos.json");
  const description = JSON.parse(readFileSync(file, "utf8")) as Parameters<typeof fromJSON>[0];
  const types = fromJSON(description, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  return types["google.firestore.v1.Firestore"] as ServiceDefinition;
}
