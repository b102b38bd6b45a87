import type { OrderStatus } from './order.ts'

/** Content of a new database: a fictional shop with fictional customers. */
export interface Seed {
  readonly customers: readonly {
    readonly id: string
    readonly name: string
    readonly email: string
    readonly city: string
  }[]
  readonly orders: readonly SeedOrder[]
}
interface Parcel {
  readonly carrier: string
  readonly tracking: string
  readonly shipped: string
  readonly due: string
}
export interface SeedOrder {
  readonly id: number
  readonly customer: string
  readonly placed: string
  readonly status: OrderStatus
  /** The parcel; absent before shipment. */
  readonly parcel?: Parcel
  readonly delivered?: string
  readonly paidWith: string
  /** Name, quantity, unit price in cents. */
  readonly items: readonly (readonly [name: string, quantity: number, cents: number])[]
  readonly refund?: { readonly cents: number; readonly on: string; readonly reason: string }
}

const parcel = (tracking: string, shipped: string, due: string): Parcel => ({
  carrier: 'Swiftparcel',
  tracking,
  shipped,
  due,
})

export const seed: Seed = {
  customers: [
    { id: 'c-101', name: 'Mara Feldkamp', email: 'mara.feldkamp@example.org', city: 'Lindau' },
    { id: 'c-102', name: 'Jörg Weißmüller', email: 'joerg@weissmueller.example.net', city: 'Fulda' },
    { id: 'c-103', name: 'Odile Garance', email: 'odile.garance@mail.example.org', city: 'Annecy' },
    { id: 'c-104', name: 'Tobin Ashgrove', email: 'tobin@ashgrove.example.com', city: 'Hexham' },
    { id: 'c-105', name: 'Priya Nandale', email: 'priya@nandale.example.org', city: 'Leuven' },
    { id: 'c-106', name: 'Kestrel Cafe', email: 'orders@kestrelcafe.example.com', city: 'Odense' },
    { id: 'c-107', name: 'Hanna Brekkes', email: 'hanna.brekkes@example.net', city: 'Bergen' },
    { id: 'c-108', name: 'Samuel Iwandu', email: 'samuel.iwandu@example.org', city: 'Cork' },
    { id: 'c-109', name: 'Wren Dallowick', email: 'wren@dallowick.example.net', city: 'Ghent' },
    { id: 'c-110', name: 'Petra Hollmund', email: 'petra@hollmund.example.org', city: 'Graz' },
    { id: 'c-111', name: 'Ines Valdorra', email: 'ines.valdorra@example.net', city: 'Girona' },
    { id: 'c-112', name: 'Corvin Haldane-Ruiz', email: 'corvin@haldane.example.com', city: 'Leith' },
    { id: 'c-113', name: 'Tove Marsholm', email: 'tove.marsholm@example.org', city: 'Malmö' },
  ],
  orders: [
    {
      id: 1041,
      customer: 'c-101',
      placed: '2026-10-26',
      status: 'delivered',
      delivered: '2026-11-03',
      paidWith: 'card ending 4417',
      parcel: parcel('SP-4101-7730', '2026-10-29', '2026-11-03'),
      items: [['Enamel kettle 1.5 l', 1, 4990]],
    },
    {
      id: 1042,
      customer: 'c-102',
      placed: '2026-10-20',
      status: 'delivered',
      delivered: '2026-10-29',
      paidWith: 'bank transfer',
      parcel: parcel('SP-4207-1148', '2026-10-24', '2026-10-28'),
      items: [
        ['Table lamp Lund', 1, 3900],
        ['Oak side table', 1, 8800],
      ],
    },
    {
      id: 1043,
      customer: 'c-104',
      placed: '2026-08-08',
      status: 'delivered',
      delivered: '2026-08-14',
      paidWith: 'card ending 0092',
      parcel: parcel('SP-4309-5521', '2026-08-10', '2026-08-14'),
      items: [['Shop apron', 2, 2600]],
    },
    {
      id: 1044,
      customer: 'c-104',
      placed: '2026-11-05',
      status: 'shipped',
      paidWith: 'card ending 0092',
      parcel: parcel('SP-4410-2291', '2026-11-09', '2026-11-13'),
      items: [['Canvas tool roll', 2, 3450]],
    },
    {
      id: 1045,
      customer: 'c-109',
      placed: '2026-11-06',
      status: 'shipped',
      paidWith: 'card ending 7310',
      parcel: parcel('SP-4502-0816', '2026-11-12', '2026-11-18'),
      items: [['Wool blanket', 1, 7900]],
    },
    {
      id: 1046,
      customer: 'c-103',
      placed: '2026-10-27',
      status: 'delivered',
      delivered: '2026-11-02',
      paidWith: 'card ending 2250',
      parcel: parcel('SP-4603-3394', '2026-10-29', '2026-11-02'),
      items: [['Linen tablecloth', 1, 6400]],
    },
    {
      id: 1047,
      customer: 'c-101',
      placed: '2026-06-05',
      status: 'delivered',
      delivered: '2026-06-12',
      paidWith: 'card ending 4417',
      parcel: parcel('SP-4708-9002', '2026-06-08', '2026-06-12'),
      items: [['Bread tin', 1, 2200]],
    },
    {
      id: 1048,
      customer: 'c-105',
      placed: '2026-11-11',
      status: 'processing',
      paidWith: 'card ending 6638',
      items: [
        ['Cast iron pan 26 cm', 1, 5780],
        ['Pan lid', 1, 1820],
      ],
    },
    {
      id: 1049,
      customer: 'c-110',
      placed: '2026-09-24',
      status: 'returned',
      delivered: '2026-09-30',
      paidWith: 'card ending 5189',
      parcel: parcel('SP-4911-6125', '2026-09-26', '2026-09-30'),
      items: [['Pepper mill', 1, 2950]],
      refund: { cents: 2950, on: '2026-10-19', reason: 'returned, does not grind' },
    },
    {
      id: 1050,
      customer: 'c-106',
      placed: '2026-10-28',
      status: 'delivered',
      delivered: '2026-11-04',
      paidWith: 'invoice',
      parcel: parcel('SP-5004-4471', '2026-10-31', '2026-11-04'),
      items: [['Stoneware cup', 24, 1300]],
    },
    {
      id: 1051,
      customer: 'c-106',
      placed: '2026-11-03',
      status: 'shipped',
      paidWith: 'invoice',
      parcel: parcel('SP-5107-2038', '2026-11-07', '2026-11-12'),
      items: [['Milk jug', 4, 1850]],
    },
    {
      id: 1052,
      customer: 'c-108',
      placed: '2026-11-02',
      status: 'delivered',
      delivered: '2026-11-08',
      paidWith: 'card ending 1376',
      parcel: parcel('SP-5206-5517', '2026-11-04', '2026-11-09'),
      items: [['Glass storage jars, set of six', 1, 4260]],
    },
    {
      id: 1053,
      customer: 'c-107',
      placed: '2026-10-30',
      status: 'returned',
      paidWith: 'card ending 8844',
      parcel: parcel('SP-5310-0077', '2026-11-03', '2026-11-06'),
      items: [
        ['Rain barrel tap', 1, 1590],
        ['Garden hose 15 m', 1, 4100],
      ],
    },
    {
      id: 1054,
      customer: 'c-111',
      placed: '2026-11-01',
      status: 'delivered',
      delivered: '2026-11-06',
      paidWith: 'card ending 3021',
      parcel: parcel('SP-5402-8890', '2026-11-03', '2026-11-06'),
      items: [['Wall clock', 1, 5400]],
    },
    {
      id: 1055,
      customer: 'c-111',
      placed: '2026-10-29',
      status: 'shipped',
      paidWith: 'card ending 3021',
      parcel: parcel('SP-5509-1263', '2026-11-02', '2026-11-07'),
      items: [['Picture frame 30 × 40', 3, 1200]],
    },
    {
      id: 1056,
      customer: 'c-112',
      placed: '2026-11-04',
      status: 'delivered',
      delivered: '2026-11-09',
      paidWith: 'card ending 9457',
      parcel: parcel('SP-5608-7342', '2026-11-05', '2026-11-09'),
      items: [['Desk fan', 1, 3330]],
    },
    {
      id: 1057,
      customer: 'c-113',
      placed: '2026-11-05',
      status: 'delivered',
      delivered: '2026-11-10',
      paidWith: 'card ending 6004',
      parcel: parcel('SP-5703-4459', '2026-11-07', '2026-11-11'),
      items: [['Door mat', 1, 2400]],
    },
  ],
}
