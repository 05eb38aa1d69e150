import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  sendUnaryData,
  ServerWritableStream,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { intercepted, type Intercept } from "./intercept.ts";
import type { ListenRequest, ListenResponse } from "./messages.ts";
import type { RequestHandlers } from "./request-handlers.ts";
import { statusOf } from "./status-error.ts";

/** Returns the gRPC methods. The library answers all other methods with UNIMPLEMENTED. */
export function implementation(handlers: RequestHandlers, intercept: Intercept | undefined): UntypedServiceImplementation {
  return {
    BatchGetDocuments: streamed("BatchGetDocuments", intercept, handlers.batchGetDocuments.bind(handlers)),
    BeginTransaction: unary("BeginTransaction", intercept, handlers.beginTransaction.bind(handlers)),
    Commit: unary("Commit", intercept, handlers.commit.bind(handlers)),
    Listen: listen(handlers, intercept),
    RunQuery: streamed("RunQuery", intercept, handlers.runQuery.bind(handlers)),
    Rollback: unary("Rollback", intercept, handlers.rollback.bind(handlers)),
  };
}

function unary<Request, Response>(
  method: string,
  intercept: Intercept | undefined,
  handler: (request: Request) => Response,
): handleUnaryCall<Request, Response> {
  const answer = async (request: Request, callback: sendUnaryData<Response>): Promise<void> => {
    try {
      callback(null, await intercepted(intercept, { method, request }, () => handler(request)));
    } catch (error) {
      callback(statusOf(error));
    }
  };
  return ({ request }, callback) => void answer(request, callback);
}

function streamed<Request, Response>(
  method: string,
  intercept: Intercept | undefined,
  handler: (request: Request) => readonly Response[],
): handleServerStreamingCall<Request, Response> {
  const answer = async (call: ServerWritableStream<Request, Response>): Promise<void> => {
    const { request } = call;
    try {
      const responses = await intercepted(intercept, { method, request }, () => handler(request));
      for (const response of responses) call.write(response);
      call.end();
    } catch (error) {
      call.emit("error", statusOf(error));
    }
  };
  return (call) => void answer(call);
}

function listen(
  handlers: RequestHandlers,
  intercept: Intercept | undefined,
): handleBidiStreamingCall<ListenRequest, ListenResponse> {
  return (call) => {
    const listener = handlers.listener((response) => void call.write(response));
    // Handles requests one after the other, however long the interceptor takes.
    let last: Promise<void> = Promise.resolve();
    call.on("data", (request: ListenRequest) => {
      last = last
        .then(() => intercepted(intercept, { method: "Listen", request }, () => listener.handle(request)))
        .catch((error: unknown) => {
          listener.close();
          call.emit("error", statusOf(error));
        });
    });
    call.on("end", () => {
      listener.close();
      call.end();
    });
    call.on("cancelled", () => listener.close());
  };
}
