export type { Fault, Intercept, InterceptedCall } from "./intercept.ts";
export { startFirestoreServer, type FirestoreServer, type FirestoreServerOptions } from "./server.ts";
