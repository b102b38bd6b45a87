import type { Suite } from '../replay/suite.ts'
import { building } from './building.ts'
import { money } from './money.ts'
import { office } from './office.ts'
import { recruiting } from './recruiting.ts'
import { shop } from './shop.ts'
import { travel } from './travel.ts'

/** The suites written for this repository that rules may be measured against at any time. */
export const ownSuites: readonly Suite[] = [office, travel, money, shop, recruiting, building]
