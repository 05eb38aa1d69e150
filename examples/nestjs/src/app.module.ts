import { Module } from "@nestjs/common";
import { Billing } from "./billing.ts";
import { LeaseStore } from "./lease-store.ts";
import { StatusController } from "./status.controller.ts";

@Module({ controllers: [StatusController], providers: [LeaseStore, Billing] })
export class AppModule {}
