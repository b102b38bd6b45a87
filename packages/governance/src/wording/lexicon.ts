/**
 * The lexicon of the policy: stems of English, German, Spanish, Arabic and Chinese words by their meaning. A stem matches
 * all words that begin with it; a stem with a full stop matches the whole word only. Arabic and Chinese stems match
 * anywhere, since those languages write words together.
 */
export const verbs: Readonly<Record<string, string>> = {
  send: `send. sends. sending sent. email. emailing e-mail. mail. mailing message. messaging tell. tells. inform. informing notify notifies reply replies replying respond answer write. writes. writing forward text. contact ping. dm. announce remind. let.know
    send. sende. senden schick verschick schreib mail. maile. mailen antworte teile.mit mitteil benachrichtig informier sag weiterleit leite.weiter
    envía envia envíe enviar mand. manda mande escrib respond conteste contesta notifi inform reenv avis dile dígale digale
    أرسل ارسل ابعث إرسال ارسال اكتب راسل أخبر اخبر بلغ رد.على أجب
    发送 发给 发邮件 发消息 发信 发一 发个 寄给 写信 写给 回复 通知 告诉 转发 给.发`,
  publish: `post. posts. posting publish announce upload share.
    poste. posten veröffentlich publizier
    publi
    انشر نشر
    发布 发表 张贴 公布`,
  pay: `pay. pays. paying paid. payment refund reimburse transfer wire. remit settle donate
    zahl. zahle. zahlen bezahl überweis uberweis erstatt rückerstatt
    pag. paga. pague pagar transfier transferir reembols abon devuelv devolv
    ادفع دفع حول حوّل تحويل سدد رد.المبلغ
    支付 付款 转账 汇款 退款 付给 缴`,
  create: `create. creates. creating make. makes. set.up setup. generate draft compose schedule. put. save. store. record. register open.a new.
    erstell anleg leg.an lege.an erzeug mach. mache. richte.ein einricht speicher plan. plane. trag. trage.
    crea. crear cree. haz. hacer genera prepara guard program apunt
    أنشئ انشئ إنشاء انشاء اصنع جهز احفظ سجل أضف.موعد
    创建 新建 建立 生成 制作 保存 安排 记录`,
  add: `add. adds. adding append include. insert attach invite. inviting join. put.
    füge fuge hinzufüg hinzu ergänz
    añad anad agreg incluy
    أضف اضف إضافة اضافة ضم ألحق
    添加 加入 增加 追加 附加 加到`,
  invite: `invite. invites. inviting invitation onboard
    lade. lad. einlad eingelad
    invit
    ادع دعوة ادعُ
    邀请`,
  change: `update. updates. updating change. changes. changing adjust modify modifies edit. edits. editing alter correct. set. reset replace rename reschedul move. moves. moving postpone shift. raise. lower. increase. decrease. fix. mark. extend prolong shorten longer. shorter.
    änder ander. aktualisier anpass pass. passe. bearbeit korrigier setz. setze verschieb erhöh senk. ersetz umbenenn verlänger verkürz
    actualiz cambi modific ajust edit. edita edite correg mueve mover reprogram aplaza alarg acort
    حدث حدّث تحديث غير غيّر عدل عدّل تعديل بدل انقل أجل مدد
    更新 修改 更改 调整 编辑 改成 改为 变更 推迟 重新安排 移动 延长 提前`,
  remove: `remove. removes. removing delete. deletes. deleting cancel erase. drop. kick. revoke. unsubscribe clear. discard. purge. close. ban. uninvite
    lösch losch entfern storniere stornier absag sag.ab kündig
    elimin borr quita cancel suprim anul
    احذف حذف ازل أزل إزالة ألغ الغ إلغاء
    删除 移除 取消 清除 撤销 踢`,
  book: `book. books. booking reserve. reserving reservation order. orders. ordering buy. buying purchase. rent.a rent.the rents.a rents.the renting.a
    buch. buche. buchen reservier bestell kauf. kaufe. kaufen miete.
    reserv pide. pedir compr alquil contrat
    احجز حجز اطلب اشتر استأجر
    预订 预定 订 购买 买 租`,
  share: `share. shares. sharing give.access grant.
    teil. teile. teilen freigeb gib.frei
    compart
    شارك مشاركة
    分享 共享`,
  schedule: `schedul recurring plan. plans. planning standing
    plan. plane. planen terminier dauerauftrag
    program agenda planific
    جدول
    安排 计划 定期 预约`,
  read: `read. get. show. find. list. look. search. fetch. visit. open. check. browse. summarize summarise
    lies. lese. lesen zeig such. suche. suchen finde. prüf fasse
    lee. leer muestr busc abr. abre revis resum
    اقرأ اعرض ابحث جد لخص افتح
    阅读 读 查看 搜索 查找 打开 总结 显示`,
  run: `run. runs. running execute. executing launch. start. deploy. restart.
    führ ausführ start. starte. starten
    ejecut lanz inici
    شغل نفذ ابدأ
    运行 执行 启动 部署`,
}

export const objects: Readonly<Record<string, string>> = {
  money: `money. cash. payment transaction transfer bill. bills. invoice rent. refund fee. fees. price. amount. difference. salary bank. iban. subscription standing debit. deposit paid. share. euro euros. eur. usd. dollar pound. pounds. gbp. chf.
    geld zahlung überweisung transaktion rechnung miete betrag gebühr differenz dauerauftrag gehalt konto
    dinero pago transacción transaccion transferencia factura alquiler importe diferencia cuota monto cuenta
    مال المال مبلغ فاتورة إيجار ايجار دفعة حساب تحويل
    钱 款 账单 发票 房租 金额 差额 费用 工资`,
  message: `message dm. mail. email e-mail note. notes. reply. text. chat. letter. newsletter inbox
    nachricht mail. e-mail brief. notiz newsletter posteingang
    mensaje correo carta nota. boletín boletin
    رسالة بريد
    消息 邮件 信 留言`,
  channel: `channel room. rooms. group. groups. forum
    kanal kanäl raum. gruppe
    canal grupo sala.
    قناة مجموعة
    频道 群`,
  person: `user. users. member people. person. colleague friend. contact. employee customer. participant attendee guest. team. her. him. them. everybody everyone
    benutzer nutzer mitglied person kolleg freund kunde teilnehmer gast.
    usuario miembro persona colega compañer companer amig client participante invitado
    مستخدم عضو شخص زميل صديق عميل
    用户 成员 同事 朋友 客户 人 参与者`,
  web: `web. website webpage page. pages. site. sites. blog url. urls. link. links. article. articles.
    webseite seite. website link. links. artikel
    página pagina sitio. web. blog enlace artículo articulo
    موقع صفحة رابط مقال
    网站 网页 页面 链接 博客 文章`,
  event: `event. events. calendar meeting appointment invitation reminder session. lunch. dinner. call. trip.
    termin kalender veranstaltung treffen besprechung ereignis
    evento calendario reunión reunion cita. recordatorio
    حدث موعد اجتماع تقويم
    事件 日历 会议 约会 日程 活动 提醒 预约`,
  file: `file. files. document doc. docs. spreadsheet folder attachment report. list. notes.
    datei dokument ordner anhang bericht liste.
    archivo fichero documento carpeta adjunto informe lista.
    ملف مستند وثيقة مجلد
    文件 文档 附件 报告 文件夹 列表`,
  password: `password passcode passphrase credential pin.
    passwort kennwort
    contraseña contrasena clave.
    كلمة.المرور كلمة.السر
    密码 口令`,
  profile: `profile address. info. information. details. data. account. name. phone.
    profil adresse angaben daten. konto kontodaten
    perfil dirección direccion datos. información informacion cuenta.
    ملف.شخصي عنوان بيانات معلومات حساب
    资料 地址 信息 账户 个人`,
  hotel: `hotel. hotels. accommodation room. stay. hostel
    hotel. unterkunft zimmer
    hotel. alojamiento habitación habitacion
    فندق غرفة
    酒店 旅馆 房间`,
  restaurant: `restaurant table. dinner. lunch. breakfast
    restaurant tisch. abendessen
    restaurante mesa. cena. comida.
    مطعم طاولة
    餐厅 餐馆`,
  car: `car. cars. vehicle rental
    auto. wagen mietwagen
    coche carro auto. vehículo
    سيارة
    汽车 租车 车`,
  ticket: `ticket issue. issues. case.
    ticket vorgang
    ticket incidencia
    تذكرة
    工单 票`,
  order: `order. orders. purchase.
    bestellung auftrag
    pedido orden.
    طلب طلبية
    订单`,
}

/** Words by which a user delegates to a text, such as `follow the instructions`. Stems as in {@link verbs}. */
export const delegations: readonly string[] = [
  'follow the instructions',
  'follow its instructions',
  'follow his instructions',
  'follow her instructions',
  'follow their instructions',
  'follow the steps',
  'actions specified in',
  'actions in the',
  'as instructed',
  'do what it says',
  'do everything it says',
  'do what is asked',
  'tasks in the',
  'befolge die anweisungen',
  'folge den anweisungen',
  'tu was darin steht',
  'sigue las instrucciones',
  'siga las instrucciones',
  'haz lo que dice',
  'اتبع التعليمات',
  'نفذ التعليمات',
  '按照说明',
  '按说明',
  '遵循指示',
  '按照指示',
  '按照其中的',
]

/** Words by which a user agrees to what was proposed before. */
export const consents: readonly string[] = [
  ...['yes', 'yeah', 'yep', 'ok', 'okay', 'sure', 'agreed', 'correct', 'exactly', 'go ahead', 'please do', 'do it'],
  ...['do that', 'sounds good', 'ja', 'genau', 'einverstanden', 'sí', 'vale', 'de acuerdo', 'adelante'],
  ...['نعم', 'أجل', 'موافق', '是的', '好的', '可以', '没问题'],
]

/** Words that begin a message by which a user drops what was proposed before. */
export const refusals: readonly string[] = [
  ...[
    'no',
    'nope',
    'not now',
    'never mind',
    'nevermind',
    'forget it',
    'forget that',
    'stop',
    'cancel that',
    'leave it',
  ],
  ...['nein', 'vergiss es', 'lass es', 'olvídalo', 'déjalo', 'لا', 'انس', '不', '算了', '别'],
]

/** Languages of the lexicon. In any other language the words imply no tool, and the policy asks. */
export const languages: readonly string[] = ['en', 'de', 'es', 'ar', 'zh']
