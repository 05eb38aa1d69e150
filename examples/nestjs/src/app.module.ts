import { Module } from "@nestjs/common";
import { ScheduleModule } from "@nestjs/schedule";
import { Billing } from "./billing.ts";
import { LeaseStore } from "./lease-store.ts";
import { Statements } from "./statements.ts";
import { StatusController } from "./status.controller.ts";

@Module({
  imports: [ScheduleModule.forRoot()],
  controllers: [StatusController],
  providers: [LeaseStore, Billing, Statements],
})
export class AppModule {}
